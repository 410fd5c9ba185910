import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { run } from "../../examples/access-log/src/run.ts";
import { blocksOf, page } from "./markdown.ts";

/** What a run takes is its own; everything else is the log's and the limits'. */
const OF_THE_RUN = /^│ (?:Requests per second|Latency p50, p99) .*\n/gm;

test("what the README shows of start is what it prints", async () => {
  const [shown] = blocksOf([page("README.md")], "text");
  const stdout = new PassThrough();
  const exitCode = await run(["--log", "examples/access-log/sample.log"], {
    environment: {},
    stdout,
    stderr: new PassThrough().resume(),
    signal: new AbortController().signal,
  });
  stdout.end();
  expect(exitCode).toBe(0);
  expect((await text(stdout)).replace(OF_THE_RUN, "")).toBe(shown?.text.replace(OF_THE_RUN, ""));
});
