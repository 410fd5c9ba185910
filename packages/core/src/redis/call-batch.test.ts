import { describe, expect, test } from "vitest";
import type { PendingCall } from "./call-batch.ts";
import { joinArguments, joinKeys, settleCalls } from "./call-batch.ts";

/** A call, and how it was settled: the reply, or the code of an error. */
function open(keys: string[], parameters: (string | number)[], replySize = 2) {
  const settled: unknown[] = [];
  const call: PendingCall = {
    keys,
    parameters,
    replySize,
    weight: 1,
    clock: "",
    waiter: undefined,
    resolve: (reply) => settled.push(reply),
    reject: (error) => settled.push((error as { code: string }).code),
  };
  return { call, settled };
}

describe("calls that go together", () => {
  test("bring their keys in order", () => {
    const calls = [open(["a", "a:log"], []).call, open(["b"], []).call, open(["a"], []).call];
    expect(joinKeys(calls)).toEqual(["a", "a:log", "b", "a"]);
  });

  test("bring equal arguments once, with how many calls in a row have them", () => {
    const calls = [
      [1, 1, "x"],
      [1, 1, "x"],
      [2, 1, "x"],
      [1, 1, "x"],
      [1, 1],
    ].map((parameters) => open(["k"], parameters).call);
    expect(joinArguments(calls).slice(2)).toEqual([
      "2",
      "1",
      "1",
      "x",
      "1",
      "2",
      "1",
      "x",
      "1",
      "1",
      "1",
      "x",
      "1",
      "1",
      "1",
    ]);
  });

  test("bring one clock, and a whole number below 2^48 for what they create", () => {
    const { call } = open(["k"], []);
    const births = Array.from({ length: 200 }, () => {
      const [clock, birth] = joinArguments([{ ...call, clock: "1800000000000123" }, call]);
      expect(clock).toBe("1800000000000123");
      expect(birth).toMatch(/^\d{1,15}$/);
      return Number(birth);
    });
    expect(Math.max(...births)).toBeLessThan(2 ** 48);
    expect(new Set(births).size).toBe(200);
  });
});

describe("the reply of calls that went together", () => {
  test("is handed out, to each its own part behind the clock", () => {
    const [one, two, three] = [open([], [], 2), open([], [], 0), open([], [], 3)];
    settleCalls("step", [one.call, two.call, three.call], [7, 1, 2, 3, 4, 5]);
    expect([one.settled, two.settled, three.settled]).toEqual([[[7, 1, 2]], [[7]], [[7, 3, 4, 5]]]);
  });

  test("may come as strings", () => {
    const { call, settled } = open([], [], 2);
    settleCalls("step", [call], ["7", "1", "-1"]);
    expect(settled).toEqual([[7, 1, -1]]);
  });

  test.each([[undefined], ["OK"], [[]], [[7, 1, 2, 3]], [[7, 1, 2, 3, 4, 5]]])(
    "is nobody's when it has not as many integers as it should: %j",
    (reply) => {
      const [one, two] = [open([], []), open([], [])];
      settleCalls("step", [one.call, two.call], reply);
      expect([one.settled, two.settled]).toEqual([["HEADGATE_BAD_REPLY"], ["HEADGATE_BAD_REPLY"]]);
    },
  );

  test("that is an object of the client is not shown, as it may hold a password", async () => {
    const client = new (class Client {
      options = { password: "secret" };
    })();
    const rejected = new Promise((_, reject) => {
      settleCalls("step", [{ ...open([], []).call, reject }], client);
    });
    await expect(rejected).rejects.toThrow(/^the script step returned an object$/);
  });

  test.each(["x", 1.5, 2 ** 53, null, {}])(
    "that holds %j where an integer should be is bad for that call alone",
    (strange) => {
      const calls = [open([], []), open([], []), open([], [])];
      settleCalls(
        "step",
        calls.map(({ call }) => call),
        [7, 1, 2, 3, strange, 5, 6],
      );
      expect(calls.map(({ settled }) => settled)).toEqual([
        [[7, 1, 2]],
        ["HEADGATE_BAD_REPLY"],
        [[7, 5, 6]],
      ]);
    },
  );
});
