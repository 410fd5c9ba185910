import { describe, expect, test } from "vitest";
import { formatReceived } from "./errors.ts";
import { rejectUnknownOptions } from "./options.ts";

function refusal(received: string) {
  return expect.objectContaining({
    code: "HEADGATE_INVALID_OPTION",
    message: expect.stringContaining(received),
  });
}

describe("rejectUnknownOptions", () => {
  test("known options are accepted, undefined or not", () => {
    expect(() => rejectUnknownOptions("x", {}, ["a"])).not.toThrow();
    expect(() => rejectUnknownOptions("x", { a: undefined, b: 1 }, ["a", "b"])).not.toThrow();
  });

  test.each([undefined, null, 5, "options", [], () => 1, 1n])(
    "%s as options is refused",
    (options) => {
      expect(() => rejectUnknownOptions("gate", options, ["a"])).toThrow(
        refusal(`gate: options must be an object, got ${formatReceived(options)}`),
      );
    },
  );

  test.each([new AbortController().signal, new Date(), new Map([["a", 1]]), new Error("x")])(
    "does not take %s for an object without options",
    (options) => {
      expect(() => rejectUnknownOptions("gate", options, ["a", "b"])).toThrow(
        refusal("gate: options must be a plain object; it takes a, b"),
      );
    },
  );

  test("an instance of a class with options is accepted", () => {
    class Configured {
      readonly a = 1;
    }
    expect(() => rejectUnknownOptions("gate", new Configured(), ["a"])).not.toThrow();
  });

  test("the error names the unknown option and the known ones", () => {
    expect(() => rejectUnknownOptions("gate", { A: 1 }, ["a", "b"])).toThrow(
      refusal('gate: unknown option "A"; it takes a, b'),
    );
  });

  test("the error names Headgate's equivalent of another library's option", () => {
    const hints = { max: "limits: gcra({ limit: 100 })" };
    expect(() => rejectUnknownOptions("gate", { max: 1 }, ["limits"], () => hints)).toThrow(
      refusal('unknown option "max"; Headgate\'s way is limits: gcra({ limit: 100 })'),
    );
  });

  test("hints are not loaded if all options are known", () => {
    rejectUnknownOptions("gate", { limits: 1 }, ["limits"], () => {
      throw new Error("hints are made for an error only");
    });
  });

  test.each(["constructor", "toString", "hasOwnProperty"])("there is no hint for %s", (option) => {
    expect(() => rejectUnknownOptions("gate", { [option]: 1 }, ["a"], () => ({}))).toThrow(
      refusal(`unknown option "${option}"; it takes a`),
    );
  });

  test("a __proto__ from JSON is an unknown option", () => {
    const options = JSON.parse('{"__proto__": {"a": 1}}');
    expect(() => rejectUnknownOptions("gate", options, ["a"])).toThrow(refusal('"__proto__"'));
  });
});
