import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { createLimiter, gcra } from "@headgate/core";
import { expect, onTestFinished, test } from "vitest";
import { run } from "../../../packages/cli/src/run.ts";
import { writeRegistry } from "../../support/write-registry.ts";
import { useHeadgate } from "./use-headgate.ts";

const own = useHeadgate();

test.each([
  ["y", 0, 2],
  ["n", 130, 0],
  // Return, without an answer.
  ["\r", 130, 0],
  ["\u0003", 130, 0],
])(
  "an action on several limiters asks for confirmation on a terminal, and the key %j is the reply",
  async (key, code, blocked) => {
    const store = own.store();
    for (const name of ["api", "web"]) {
      const limiter = createLimiter({ name, limits: gcra({ limit: 5, window: "1m" }), store });
      onTestFinished(() => limiter.close());
    }
    await writeRegistry(store);
    const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} });
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const prompt = text(stderr);
    stderr.on("data", (shown: Buffer) => {
      if (String(shown).includes("Continue?")) setImmediate(() => stdin.write(key));
    });
    stdout.resume();
    const args = [
      "block",
      "a\u202en\u009bn",
      "1h",
      "--all",
      "--redis",
      `redis://127.0.0.1:${own.server.port}`,
    ];
    const { signal } = new AbortController();
    const exitCode = await run(args, { environment: {}, stdin, stdout, stderr, signal });
    stderr.end();
    expect(exitCode).toBe(code);
    expect(await prompt).toContain("This will block for 1h: api, a\\u{202e}n\\x9bn; web, ");
    expect((await own.client.keys("hg:{*}:[aw]*:*")).length).toBe(blocked);
  },
);
