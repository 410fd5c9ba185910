import { expect, test } from "vitest";
import type { Step } from "../store/store.ts";
import type { PendingCall } from "./call-batch.ts";
import { joinKeys, settleCalls } from "./call-batch.ts";

/** A call, and how it was settled: the reply, or the code of an error. */
function open(...keys: string[]) {
  const settled: unknown[] = [];
  const call: PendingCall = {
    step: step as unknown as Step<never>,
    call: keys.join() as never,
    keys,
    weight: 1,
    clock: "",
    waiter: undefined,
    resolve: (reply) => settled.push(reply),
    reject: (error) => settled.push((error as { code: string }).code),
  };
  return { call, settled };
}

const step = {
  name: "step",
  read: (calls: readonly string[], reply: unknown) =>
    calls.map((call) => (reply as Record<string, number[]>)[call]),
};

test("calls that go together bring their keys in order", () => {
  const calls = [open("a", "a:log").call, open("b").call, open("a").call];
  expect(joinKeys(calls)).toEqual(["a", "a:log", "b", "a"]);
});

test("each gets what the step reads of the reply for it, and one for which it reads nothing fails alone", () => {
  const calls = [open("a"), open("b"), open("c")];
  settleCalls(
    calls.map(({ call }) => call),
    { a: [7, 1], c: [7, 2] },
  );
  expect(calls.map(({ settled }) => settled)).toEqual([[[7, 1]], ["HEADGATE_BAD_REPLY"], [[7, 2]]]);
});

test("a reply that is an object of the client is not shown, as it may hold a password", async () => {
  const client = new (class Client {
    options = { password: "secret" };
  })();
  const rejected = new Promise((_, reject) => {
    settleCalls([{ ...open("a").call, reject }], client);
  });
  await expect(rejected).rejects.toThrow(/^the script step returned an object$/);
});
