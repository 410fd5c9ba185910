import { EventEmitter } from "node:events";
import type { RequestDecision } from "@headgate/core/http";
import { expect, test } from "vitest";
import { LateKeyCheck } from "./late-key-check.ts";
import type { NestRequest } from "./limited-context.ts";

const CONTEXT = {} as NestRequest;
const countedBy = (subject: string) =>
  ({ subject: { default: subject } }) as unknown as RequestDecision;
const MISSED = countedBy("~ip~203.0.113.7");

/** Lets requests end, and resolves when their keys were read again. */
async function end(check: LateKeyCheck, decisions: readonly RequestDecision[]): Promise<void> {
  for (const decision of decisions) {
    const response = new EventEmitter();
    check.observe(CONTEXT, response, decision);
    response.emit("close");
  }
  await new Promise(setImmediate);
}

test("five keys that come too late are reported once", async () => {
  const late: unknown[] = [];
  const check = new LateKeyCheck(
    async () => "ada",
    (context) => late.push(context),
  );
  await end(check, Array(4).fill(MISSED));
  expect([late, check.isActive]).toEqual([[], true]);
  await end(check, Array(3).fill(MISSED));
  expect([late, check.isActive]).toEqual([[CONTEXT], false]);
});

test("a response has one listener of each event, however many fields of a query it answers", () => {
  const check = new LateKeyCheck(
    () => undefined,
    () => expect.unreachable(),
  );
  const response = new EventEmitter();
  for (let field = 0; field < 20; field += 1) check.observe(CONTEXT, response, MISSED);
  expect([response.listenerCount("finish"), response.listenerCount("close")]).toEqual([1, 1]);
});

test("one key that is found in time ends the check, also for requests that have not ended", async () => {
  const reads: unknown[] = [];
  const check = new LateKeyCheck(
    (context) => String(reads.push(context)),
    () => expect.unreachable(),
  );
  const open = Array.from({ length: 9 }, () => new EventEmitter());
  for (const response of open) check.observe(CONTEXT, response, MISSED);
  await end(check, [countedBy("ada")]);
  for (const response of open) response.emit("close");
  await new Promise(setImmediate);
  expect([reads, check.isActive]).toEqual([[], false]);
});

test.each([
  ["finds nobody", () => undefined],
  ["finds an empty text", () => ""],
  [
    "throws",
    () => {
      throw new Error("the session is gone");
    },
  ],
  ["rejects", () => Promise.reject(new Error("the session is gone"))],
])(
  "a key that %s at the end is read again for 1,000 requests, and not reported",
  async (_, read) => {
    let reads = 0;
    const key = () => {
      reads += 1;
      return read();
    };
    const check = new LateKeyCheck(key, () => expect.unreachable());
    await end(check, Array(999).fill(MISSED));
    expect(check.isActive).toBe(true);
    await end(check, [MISSED]);
    expect([reads, check.isActive]).toEqual([1_000, false]);
  },
);
