import { expect, test } from "vitest";
import { addHeadersToError } from "./apply-verdict.ts";
import type { Header } from "./headers.ts";

const HEADERS: readonly Header[] = [
  ["X-RateLimit-Limit", "5"],
  ["RateLimit-Limit", undefined],
  ["Retry-After", "12"],
];

test("addHeadersToError adds exactly the headers of the denial", () => {
  const error = new Error("too fast");
  expect(addHeadersToError(error, HEADERS)).toBe(error);
  expect(error).toMatchObject({ message: "too fast" });
  expect((error as { headers?: unknown }).headers).toEqual({
    "X-RateLimit-Limit": "5",
    "Retry-After": "12",
  });
});

test("addHeadersToError keeps headers that the error has, in any letter case", () => {
  const own = { "retry-after": "60", "WWW-Authenticate": "Bearer" };
  const error = Object.assign(new Error("too fast"), { headers: own });
  expect(addHeadersToError(error, HEADERS).headers).toEqual({ ...own, "X-RateLimit-Limit": "5" });
  expect(own).toEqual({ "retry-after": "60", "WWW-Authenticate": "Bearer" });
});

test("an error that is thrown twice gets the headers of the second denial", () => {
  const error = Object.assign(new Error("too fast"), { headers: { "WWW-Authenticate": "Bearer" } });
  addHeadersToError(error, HEADERS);
  expect(addHeadersToError(error, [["Retry-After", "7"]]).headers).toEqual({
    "WWW-Authenticate": "Bearer",
    "Retry-After": "7",
  });
  error.headers = { "WWW-Authenticate": "Basic" };
  expect(addHeadersToError(error, [["Retry-After", "6"]]).headers).toEqual({
    "WWW-Authenticate": "Basic",
    "Retry-After": "6",
  });
});

test.each([
  ["frozen", Object.freeze(new RangeError("too fast"))],
  [
    "with a getter",
    new (class extends RangeError {
      get headers(): undefined {
        return undefined;
      }
    })("too fast"),
  ],
])("an error that is %s keeps its own shape", (_, error) => {
  const kept = addHeadersToError(error, HEADERS);
  expect(kept).toBeInstanceOf(RangeError);
  expect(kept.message).toBe("too fast");
  expect(kept.headers["Retry-After"]).toBe("12");
});

test.each([undefined, null, "too fast", { status: 429 }])(
  "addHeadersToError turns %j into an Error",
  (reason) => {
    const kept = addHeadersToError(reason, HEADERS);
    expect(kept).toBeInstanceOf(Error);
    expect(kept.cause).toBe(reason);
    expect(kept.headers["Retry-After"]).toBe("12");
  },
);
