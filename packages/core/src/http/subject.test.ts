import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import type { OpaqueSubject, SubjectKind, SubjectText } from "./subject.ts";
import {
  formatSubject,
  InvalidSubject,
  joinSubjects,
  parseKeyResult,
  toOpaqueSubject,
} from "./subject.ts";

function kindSubject(kind: SubjectKind, value: string): OpaqueSubject {
  return toOpaqueSubject(formatSubject(kind, value));
}

/** Texts that try to be another kind's. */
const hostile = fc.oneof(
  fc.string({
    unit: fc.constantFrom("~", "ip", "sha256", "hmac", "1.2.3.4", "a", "\0", "\ud800"),
    maxLength: 6,
  }),
  fc.string({ unit: "binary", maxLength: 8 }),
);

const kind = fc.constantFrom("text", "ip", "sha256", "hmac");

function subjectOf(kind: string, value: string): SubjectText {
  return parseKeyResult(kind === "text" ? value : kindSubject(kind as "ip", value));
}

describe("subjects of strings", () => {
  test.prop([fc.string({ minLength: 1 }).filter((text) => !text.startsWith("~"))])(
    "a string is its own subject",
    (text) => {
      expect(parseKeyResult(text)).toBe(text);
    },
  );

  test("a subject that begins with ~ gets another ~", () => {
    expect(parseKeyResult("~")).toBe("~~");
    expect(parseKeyResult("~~")).toBe("~~~");
    expect(parseKeyResult("~ip~1.2.3.4")).toBe("~~ip~1.2.3.4");
  });

  test.each(["constructor", "__proto__", "undefined", "null", " ", "0", "\0"])(
    "%j is an ordinary subject",
    (text) => {
      expect(parseKeyResult(text)).toBe(text);
    },
  );
});

describe("kinds of subjects", () => {
  test.prop([kind, kind, hostile, hostile], { numRuns: 5_000 })(
    "subjects are equal only if their kind and value are equal",
    (kindA, kindB, a, b) => {
      fc.pre(!(kindA === "text" && a === "") && !(kindB === "text" && b === ""));
      const areSame = kindA === kindB && a === b;
      expect(subjectOf(kindA, a) === subjectOf(kindB, b)).toBe(areSame);
    },
  );

  test.prop([kind, kind, hostile])(
    "a string from a key function never equals the text of a built-in subject",
    (made, by, value) => {
      const subject = subjectOf(made, value);
      fc.pre(typeof subject === "string" && subject !== "");
      const forged = subjectOf(by, subject as string);
      const isItself = made === "text" && by === "text" && !value.startsWith("~");
      expect(forged === subject).toBe(isItself);
    },
  );

  test("the text of a subject contains its kind", () => {
    expect(parseKeyResult(kindSubject("sha256", "x"))).toBe("~sha256~x");
    expect(parseKeyResult(kindSubject("hmac", "x"))).toBe("~hmac~x");
    expect(parseKeyResult(kindSubject("ip", "1.2.3.4"))).toBe("~ip~1.2.3.4");
    expect(parseKeyResult(toOpaqueSubject("1.2.3.4"))).toBe("1.2.3.4");
  });
});

describe("subjects of several keys together", () => {
  test("different lists of keys never share a subject, whatever their texts are", () => {
    /** Every text of one to four characters of the two that separate keys. */
    const texts = [1, 2, 3, 4].flatMap((length) =>
      Array.from({ length: 2 ** length }, (_, bits) =>
        bits.toString(2).padStart(length, "0").replaceAll("0", "~").replaceAll("1", "/"),
      ),
    );
    const pairs = texts.flatMap((one) => texts.map((other) => [one, other]));
    const lists = [...pairs, ...pairs.flatMap((pair) => texts.map((text) => [...pair, text]))];
    expect(new Set(lists.map(joinSubjects)).size).toBe(lists.length);
  });

  test.each([
    [
      ["a~/b", "c"],
      ["a", "b~/c"],
    ],
    [
      ["a~", "b"],
      ["a", "~b"],
    ],
    [
      ["a", "b", "c"],
      ["a~/b", "c"],
    ],
    [
      ["a/", "b"],
      ["a", "/b"],
    ],
  ])("%j and %j are two clients", (one, other) => {
    expect(joinSubjects(one)).not.toBe(joinSubjects(other));
  });
});

describe("requests without a subject", () => {
  test.each([[undefined], [null], [""]])("%j is no subject", (value) => {
    expect(parseKeyResult(value)).toBeUndefined();
  });
});

describe("numbers as subjects", () => {
  test.each([
    [0, "0"],
    [-0, "0"],
    [7, "7"],
    [-7, "-7"],
    [Number.MAX_SAFE_INTEGER, "9007199254740991"],
    [123_456_789_012_345_678n, "123456789012345678"],
  ])("a whole number is written in digits: %s", (value, text) => {
    expect(parseKeyResult(value)).toBe(text);
  });
});

describe("invalid subjects", () => {
  test.each([
    [0.5],
    [2 ** 53],
    [Number.NaN],
    [true],
    [false],
    [Symbol("user")],
    [["user-1"]],
    [[]],
    [{}],
    [{ toString: () => "user-1" }],
    [() => "user-1"],
    [new String("user-1")],
    [Buffer.from("user-1")],
    [Object.create(null)],
    [Promise.resolve("user-1")],
  ])("an invalid subject differs from a missing one: %s", (value) => {
    expect(parseKeyResult(value)).toBeInstanceOf(InvalidSubject);
  });

  test.prop([fc.jsonValue()])(
    "every object that a client can send as JSON is an invalid subject",
    (value) => {
      const sent: unknown = JSON.parse(JSON.stringify({ key: value })).key;
      fc.pre(typeof sent === "object" && sent !== null);
      expect(parseKeyResult(sent)).toBeInstanceOf(InvalidSubject);
    },
  );

  test.each([
    { "@headgate/core.subject": "~ip~1.2.3.4" },
    { "Symbol(@headgate/core.subject)": "~ip~1.2.3.4" },
    JSON.parse('{"__proto__":{"@headgate/core.subject":"~ip~1.2.3.4"}}'),
  ])("an object that imitates a built-in subject is invalid: %j", (forged) => {
    expect(parseKeyResult(forged)).toBeInstanceOf(InvalidSubject);
  });

  test.each<[string, (subject: object) => unknown]>([
    ["a template", (subject) => `${subject}`],
    ["a list", (subject) => [subject].join(":")],
    ["JSON", (subject) => JSON.stringify([subject])],
  ])("a built-in subject throws if it is used as text: %s", (_, use) => {
    expect(() => use(kindSubject("ip", "1.2.3.4"))).toThrow(
      expect.objectContaining({ code: "HEADGATE_INVALID_KEY" }),
    );
  });
});

test("two copies of Headgate recognize each other's subjects", () => {
  const foreign = { [Symbol.for("@headgate/core.subject")]: "~ip~1.2.3.4" };
  expect(parseKeyResult(foreign)).toBe("~ip~1.2.3.4");
});
