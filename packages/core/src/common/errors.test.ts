import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { ERROR_CODES, formatKind, formatReceived, HeadgateError } from "./errors.ts";

describe("formatReceived", () => {
  test.each([
    [5, "5"],
    [Number.NaN, "NaN"],
    ["5", '"5"'],
    ["", '""'],
    ["a\nb", '"a\\nb"'],
    [undefined, "undefined"],
    [null, "null"],
    [true, "true"],
    [10n, "10n"],
    [Symbol("x"), "Symbol(x)"],
    [() => 5, "a function"],
    [{ max: 5 }, '{"max":5}'],
    [[1, 2], "[1,2]"],
  ])("writes %s unambiguously", (value, text) => {
    expect(formatReceived(value)).toBe(text);
  });

  test("the content of class instances and URLs is hidden", () => {
    const client = new (class Client {
      options = { password: "secret" };
    })();
    expect(formatReceived(client)).toBe("an object");
    expect(formatReceived(new URL("redis://:secret@host"))).toBe("an object");
  });

  test("passwords in misplaced options and URLs are hidden", () => {
    const options = {
      port: 6379,
      password: "hunter2",
      tls: { key: "hunter2" },
      hosts: ["hunter2"],
    };
    expect(formatReceived(options)).toBe(
      '{"port":6379,"password":"...","tls":{"key":"..."},"hosts":["..."]}',
    );
    expect(formatReceived([options])).not.toContain("hunter2");
    expect(formatReceived("rediss://ann:hunter2@10.0.0.7/0")).toBe('"rediss://...@10.0.0.7/0"');
    expect(formatReceived(["1m", "redis://:hun@ter2@host"])).toBe('["1m","redis://...@host"]');
  });

  test("any value is formatted without an error, and stays short", () => {
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    const throwing = {
      toJSON() {
        throw new Error("no");
      },
    };
    const silent = { toJSON: () => undefined };
    for (const value of [circular, throwing, silent, { big: 1n }, Object.create(null)]) {
      expect(formatReceived(value)).toMatch(/^(an object|\{\})$/);
    }
    expect(formatReceived("x".repeat(5_000)).length).toBeLessThanOrEqual(82);
    expect(formatReceived(new Array(5_000).fill(7)).length).toBeLessThanOrEqual(80);
  });

  test.prop([fc.anything({ withBigInt: true, withNullPrototype: true, withDate: true })])(
    "is one line",
    (value) => {
      expect(formatReceived(value)).not.toMatch(/[\r\n]/);
    },
  );
});

describe("formatKind", () => {
  test.each([
    [5, "a number"],
    [Number.NaN, "a number"],
    ["secret", "a string"],
    ["", "a string"],
    [undefined, "undefined"],
    [null, "null"],
    [true, "a boolean"],
    [10n, "a bigint"],
    [Symbol("secret"), "a symbol"],
    [() => "secret", "a function"],
    [class Secret {}, "a function"],
    [{ password: "secret" }, "an object"],
    [Object.create(null), "an object"],
    [new Error("secret"), "an object"],
    [["secret"], "an array"],
    [[], "an array"],
  ])("%s is formatted without its content", (value, text) => {
    expect(formatKind(value)).toBe(text);
  });

  test("no property of an object is read", () => {
    const untouchable = new Proxy(
      {},
      {
        get: () => {
          throw new Error("read");
        },
        ownKeys: () => {
          throw new Error("listed");
        },
      },
    );
    expect(formatKind(untouchable)).toBe("an object");
  });
});

test("every code has an explanation of one sentence", () => {
  for (const [code, sentence] of Object.entries(ERROR_CODES)) {
    expect(code).toMatch(/^HEADGATE(_[A-Z]+)+$/);
    expect(sentence).toMatch(/^[A-Z].*\.$/);
  }
});

test("an error carries its code, its name and its cause", () => {
  const cause = new Error("reset by peer");
  const error = new HeadgateError("HEADGATE_BAD_REPLY", "no", { cause });
  expect(error).toMatchObject({ name: "HeadgateError", code: "HEADGATE_BAD_REPLY", cause });
  expect(String(error)).toBe("HeadgateError: no");
});
