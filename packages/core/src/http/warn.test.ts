import { describe, expect, test } from "vitest";
import { HeadgateError } from "../common/errors.ts";
import { HeadgateDeniedError } from "./problem.ts";
import { toError } from "./warn.ts";

describe("toError", () => {
  class OfTheApplication extends Error {}
  const denied = Object.create(HeadgateDeniedError.prototype) as Error;

  test.each([
    [new Error("wrong")],
    [new TypeError("wrong")],
    [new OfTheApplication("")],
    [new AggregateError([])],
    [new HeadgateError("HEADGATE_CLOSED", "closed")],
    [denied],
  ])("toError returns an Error unchanged: %s", (error) => {
    expect(toError(error)).toBe(error);
  });

  const circular: Record<string, unknown> = { secret: "secret" };
  circular["self"] = circular;

  test.each([
    [undefined, "undefined"],
    [null, "null"],
    ["", "a string"],
    ["route", "a string"],
    ["router", "a string"],
    ["secret", "a string"],
    [0, "a number"],
    [Number.NaN, "a number"],
    [500, "a number"],
    [false, "a boolean"],
    [true, "a boolean"],
    [0n, "a bigint"],
    [Symbol("secret"), "a symbol"],
    [() => "secret", "a function"],
    [{ message: "secret", stack: "secret" }, "an object"],
    [Object.create(null), "an object"],
    [circular, "an object"],
    [["secret"], "an array"],
  ])("toError wraps any other value without reading it: %s", (reason, kind) => {
    const error = toError(reason);
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({
      name: "HeadgateError",
      code: "HEADGATE_NOT_AN_ERROR",
      message: `a function of the application threw or rejected with ${kind}, which is not an Error`,
    });
    expect(Object.hasOwn(error, "cause")).toBe(true);
    expect(error.cause).toBe(reason);
  });
});
