#!/usr/bin/env node
import { Failure } from "./command/failure.ts";
import { run } from "./run.ts";

const interruption = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) {
  // Package managers hand on the signal that the terminal sent already: the second must not cut the cleaning short.
  process.on(name, () => interruption.abort(new Failure("interrupted", 130)));
}
// Who reads no further, as `head`, has what they wanted.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit();
  throw error;
});

const { env: environment, stdin, stdout, stderr } = process;
process.exitCode = await run(process.argv.slice(2), {
  environment,
  stdin,
  stdout,
  stderr,
  signal: interruption.signal,
});
