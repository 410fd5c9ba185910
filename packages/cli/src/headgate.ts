import "./connect/unset-debug.ts";

import type { Socket } from "node:net";
import { debuglog } from "node:util";
import { CommandError, messageOf } from "./command/command-error.ts";
import { containsPassword } from "./connect/redis-url.ts";
import { run } from "./run.ts";

/** An internal error: EX_SOFTWARE of sysexits. */
const EXIT_INTERNAL_ERROR = 70;

const args = process.argv.slice(2);
// After this, ps shows the title instead of the arguments.
if (args.some(containsPassword)) process.title = "headgate";

const interrupt = new AbortController();
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  // Package managers forward a signal that the terminal has already sent. The second one must not interrupt the cleanup.
  process.on(name, () => interrupt.abort(new CommandError("interrupted", 130)));
}
for (const stream of [process.stdout, process.stderr]) {
  // A reader such as `head` closes the pipe when it has enough.
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit();
    // The terminal is closed. SIGHUP follows, and must not interrupt the cleanup.
    if (error.code === "EIO") return;
    throw error;
  });
}

const { env: environment, stdin, stdout, stderr } = process;
const context = { environment, stdin, stdout, stderr, signal: interrupt.signal };
try {
  process.exitCode = await run(args, context);
} catch (error) {
  debuglog("headgate")("%o", error);
  stderr.write(
    `headgate: internal error, please report it with the output of NODE_DEBUG=headgate: ${messageOf(error)}\n`,
  );
  process.exitCode = EXIT_INTERNAL_ERROR;
}
// A program that keeps standard input open must not keep this process alive.
(stdin as Partial<Socket>).unref?.();
