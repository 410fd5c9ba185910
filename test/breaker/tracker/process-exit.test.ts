import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";

/** A process that leaves all there is to wait for behind: a report, a trial call, an open breaker that was never closed. */
const SCRIPT = `
import { createBreaker } from "@headgate/breaker";
import { memoryStore } from "@headgate/core";

const memory = memoryStore();
const store = {
  ...memory,
  owner: {},
  transport: {send(sent) { memory.run(sent.operation, sent.call).then(sent.resolve.bind(sent)); }, hashSlotOf: () => 0, isCrossSlotError: () => false, nodeOf: () => "", refreshTopology() {}, lastError: () => undefined },
};
const options = { minimumCalls: 1, openFor: 1, trialCallTimeout: "1d" };
const reporter = createBreaker({ ...options, name: "reporter", store, flushInterval: "1m" });
await reporter.admit();
await reporter.record("failure");
for (const breaker of [
  createBreaker({ ...options, name: "trial-caller", store, flushInterval: 0, storeTimeout: "1m" }),
  createBreaker(options),
]) {
  await breaker.record("failure");
  await new Promise((resolve) => setTimeout(resolve, 5));
  const permit = await breaker.admit();
  if (permit.state !== "half-open" || !permit.allowed) throw new Error("no trial call");
}
const bounded = createBreaker();
await bounded.run(() => 1, { timeout: "1d", signal: new AbortController().signal });
console.log("done");
`;

test("a breaker does not keep the process alive", async () => {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", SCRIPT], {
    cwd: join(import.meta.dirname, "../../.."),
    stdio: ["ignore", "pipe", "inherit"],
    // What is left to wait for takes a minute at least.
    timeout: 30_000,
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const [code, signal] = await once(child, "close");
  expect({ output, code, signal }).toEqual({ output: "done\n", code: 0, signal: null });
});
