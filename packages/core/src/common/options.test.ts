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
  test("takes what is known, undefined or not", () => {
    expect(() => rejectUnknownOptions("x", {}, ["a"])).not.toThrow();
    expect(() => rejectUnknownOptions("x", { a: undefined, b: 1 }, ["a", "b"])).not.toThrow();
  });

  test.each([undefined, null, 5, "options", [], () => 1, 1n])("refuses %s", (options) => {
    expect(() => rejectUnknownOptions("gate", options, ["a"])).toThrow(
      refusal(`gate: options must be an object, got ${formatReceived(options)}`),
    );
  });

  test.each([new AbortController().signal, new Date(), new Map([["a", 1]]), new Error("x")])(
    "does not take %s for an object without options",
    (options) => {
      expect(() => rejectUnknownOptions("gate", options, ["a", "b"])).toThrow(
        refusal("gate: options must be a plain object; it takes a, b"),
      );
    },
  );

  test("takes an instance of a class that has some", () => {
    class Configured {
      readonly a = 1;
    }
    expect(() => rejectUnknownOptions("gate", new Configured(), ["a"])).not.toThrow();
  });

  test("names an unknown option, and what there is", () => {
    expect(() => rejectUnknownOptions("gate", { A: 1 }, ["a", "b"])).toThrow(
      refusal('gate: unknown option "A"; it takes a, b'),
    );
  });

  test("tells those who come from another library what the option is called here", () => {
    const hints = { max: "limits: gcra({ limit: 100 })" };
    expect(() => rejectUnknownOptions("gate", { max: 1 }, ["limits"], () => hints)).toThrow(
      refusal('unknown option "max"; Headgate\'s way is limits: gcra({ limit: 100 })'),
    );
  });

  test("asks for no hints when all options are known", () => {
    rejectUnknownOptions("gate", { limits: 1 }, ["limits"], () => {
      throw new Error("hints are made for an error only");
    });
  });

  test.each(["constructor", "toString", "hasOwnProperty"])("has no hint for %s", (option) => {
    expect(() => rejectUnknownOptions("gate", { [option]: 1 }, ["a"], () => ({}))).toThrow(
      refusal(`unknown option "${option}"; it takes a`),
    );
  });

  test("sees a __proto__ that JSON wrote", () => {
    const options = JSON.parse('{"__proto__": {"a": 1}}');
    expect(() => rejectUnknownOptions("gate", options, ["a"])).toThrow(refusal('"__proto__"'));
  });
});
