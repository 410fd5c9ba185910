// Shows what limits would have done to real traffic: replays an access log over HTTP, on the log's own clock.
//
//   npx -y pnpm@10.34.9 start
//   npx -y pnpm@10.34.9 start --log access.log --limits '[{"algorithm":"gcra","limit":10,"window":"1m"}]' --json

import { Failure } from "./failure.ts";
import { run } from "./run.ts";

const interruption = new AbortController();
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  // Package managers hand on the signal that the terminal sent already: the second must not cut the cleaning short.
  process.on(name, () => interruption.abort(new Failure("interrupted", 130)));
}

const { env: environment, stdout, stderr } = process;
process.exitCode = await run(process.argv.slice(2), {
  environment,
  stdout,
  stderr,
  signal: interruption.signal,
});
