import "./connect/unset-debug.ts";

import type { Socket } from "node:net";
import { debuglog } from "node:util";
import { CommandError, messageOf } from "./command/command-error.ts";
import { containsPassword } from "./connect/redis-url.ts";
import { run } from "./run.ts";

/** An internal error: EX_SOFTWARE of sysexits. */
const EXIT_INTERNAL_ERROR = 70;

const args = process.argv.slice(2);
// From then on ps shows this in place of the arguments.
if (args.some(containsPassword)) process.title = "headgate";

const interrupt = new AbortController();
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  // Package managers hand on the signal that the terminal sent already: the second must not cut the cleaning short.
  process.on(name, () => interrupt.abort(new CommandError("interrupted", 130)));
}
for (const stream of [process.stdout, process.stderr]) {
  // A reader that stops, such as `head`, has what it wanted.
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit();
    // The terminal is gone: SIGHUP follows, and the cleaning must not be cut short.
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
    `headgate: internal error, please report it with what NODE_DEBUG=headgate adds: ${messageOf(error)}\n`,
  );
  process.exitCode = EXIT_INTERNAL_ERROR;
}
// A program that writes more to standard input, or only keeps it open, must not keep this process alive.
(stdin as Partial<Socket>).unref?.();
