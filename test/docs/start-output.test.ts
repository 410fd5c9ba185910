import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, expect, test } from "vitest";
import { run } from "../../examples/access-log/src/run.ts";
import { blocksOf, page } from "./markdown.ts";

const folder = mkdtempSync(join(tmpdir(), "start-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** What a run takes is its own; everything else is the log's and the limits'. */
const OF_THE_RUN = /^│ (?:Requests per second|Latency p50, p99) .*\n/gm;

test("what the page shows of start is what it prints", async () => {
  const [shown] = blocksOf([page("docs/how-to/choosing-a-limit.md")], "text");
  const stdout = new PassThrough();
  const html = join(folder, "headgate-report.html");
  const exitCode = await run(["--log", "examples/access-log/sample.log", "--html", html], {
    environment: {},
    stdout,
    stderr: new PassThrough().resume(),
    signal: new AbortController().signal,
  });
  stdout.end();
  expect(exitCode).toBe(0);
  expect((await text(stdout)).replace(OF_THE_RUN, "").replace(`${folder}/`, "")).toBe(
    shown?.text.replace(OF_THE_RUN, ""),
  );
});
