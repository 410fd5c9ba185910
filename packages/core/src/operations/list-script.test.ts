import { describe, expect, test } from "vitest";
import { composeScript } from "../scripts/compose-script.ts";
import { defineListOperation } from "./list-script.ts";

interface Call {
  readonly parameters: readonly (string | number)[];
  readonly size: number;
}

const { encode, decode } = defineListOperation<Call>("step", {
  source: { sha1: "", source: "" },
  parameters: ({ parameters }) => parameters,
  replySize: ({ size }) => size,
});

const call = (parameters: (string | number)[], size = 2): Call => ({ parameters, size });

describe("a script that takes a list of calls", () => {
  test("receives equal consecutive arguments once, with the number of calls", () => {
    const calls = [
      [1, 1, "x"],
      [1, 1, "x"],
      [2, 1, "x"],
      [1, 1, "x"],
      [1, 1],
    ];
    const { args } = encode(
      calls.map((parameters) => call(parameters)),
      composeScript,
      "",
    );
    expect(args.slice(2).join(" ")).toBe("2 1 1 x 1 2 1 x 1 1 1 x 1 1 1");
  });

  test("receives one clock, and a whole number below 2^48 as generation", () => {
    const generations = Array.from({ length: 200 }, () => {
      const [clock, generation] = encode(
        [call([]), call([])],
        composeScript,
        "1800000000000123",
      ).args;
      expect(clock).toBe("1800000000000123");
      expect(generation).toMatch(/^\d{1,15}$/);
      return Number(generation);
    });
    expect(Math.max(...generations)).toBeLessThan(2 ** 48);
    expect(new Set(generations).size).toBe(200);
  });
});

describe("the reply of a script that takes a list of calls", () => {
  test("is split into the clock and the integers of each call", () => {
    const calls = [call([], 2), call([], 0), call([], 3)];
    expect(decode(calls, [7, 1, 2, 3, 4, 5])).toEqual([[7, 1, 2], [7], [7, 3, 4, 5]]);
  });

  test("may consist of strings or bytes", () => {
    expect(decode([call([])], ["7", "1", "-1"])).toEqual([[7, 1, -1]]);
    expect(decode([call([])], ["7", "1", "-1"].map(Buffer.from))).toEqual([[7, 1, -1]]);
  });

  test.each([[undefined], ["OK"], [[]], [[7, 1, 2, 3]], [[7, 1, 2, 3, 4, 5]]])(
    "is invalid for every call if its length is wrong: %j",
    (reply) => {
      expect(decode([call([]), call([])], reply)).toEqual([undefined, undefined]);
    },
  );

  test.each(["x", 1.5, 2 ** 53, null, {}])(
    "with %j in place of an integer is invalid for that call alone",
    (strange) => {
      const calls = [call([]), call([]), call([])];
      expect(decode(calls, [7, 1, 2, 3, strange, 5, 6])).toEqual([[7, 1, 2], undefined, [7, 5, 6]]);
    },
  );
});
