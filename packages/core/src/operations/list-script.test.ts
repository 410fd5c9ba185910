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

describe("a script that takes calls in a list", () => {
  test("is brought equal arguments once, with how many calls in a row have them", () => {
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

  test("is brought one clock, and a whole number below 2^48 for what it creates", () => {
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

describe("its reply", () => {
  test("is handed out, to each call its own part behind the clock", () => {
    const calls = [call([], 2), call([], 0), call([], 3)];
    expect(decode(calls, [7, 1, 2, 3, 4, 5])).toEqual([[7, 1, 2], [7], [7, 3, 4, 5]]);
  });

  test("may come as strings, or as bytes", () => {
    expect(decode([call([])], ["7", "1", "-1"])).toEqual([[7, 1, -1]]);
    expect(decode([call([])], ["7", "1", "-1"].map(Buffer.from))).toEqual([[7, 1, -1]]);
  });

  test.each([[undefined], ["OK"], [[]], [[7, 1, 2, 3]], [[7, 1, 2, 3, 4, 5]]])(
    "is nobody's when it has not as many integers as it should: %j",
    (reply) => {
      expect(decode([call([]), call([])], reply)).toEqual([undefined, undefined]);
    },
  );

  test.each(["x", 1.5, 2 ** 53, null, {}])(
    "that holds %j where an integer should be is bad for that call alone",
    (strange) => {
      const calls = [call([]), call([]), call([])];
      expect(decode(calls, [7, 1, 2, 3, strange, 5, 6])).toEqual([[7, 1, 2], undefined, [7, 5, 6]]);
    },
  );
});
