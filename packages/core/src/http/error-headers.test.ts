import { expect, test } from "vitest";
import { addHeadersToError } from "./error-headers.ts";
import type { Header } from "./verdict.ts";

const HEADERS: readonly Header[] = [
  ["X-RateLimit-Limit", "5"],
  ["RateLimit-Limit", undefined],
  ["Retry-After", "12"],
];

test("an error gets the headers of the denial, and no others", () => {
  const error = new Error("too fast");
  expect(addHeadersToError(error, HEADERS)).toBe(error);
  expect(error).toMatchObject({ message: "too fast" });
  expect((error as { headers?: unknown }).headers).toEqual({
    "X-RateLimit-Limit": "5",
    "Retry-After": "12",
  });
});

test("headers of its own stay, whatever their letters", () => {
  const own = { "retry-after": "60", "WWW-Authenticate": "Bearer" };
  const error = Object.assign(new Error("too fast"), { headers: own });
  expect(addHeadersToError(error, HEADERS).headers).toEqual({ ...own, "X-RateLimit-Limit": "5" });
  expect(own).toEqual({ "retry-after": "60", "WWW-Authenticate": "Bearer" });
});

test("an error that is thrown again gets the headers of the new denial", () => {
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
])("an error that is %s is answered as what it is", (_, error) => {
  const kept = addHeadersToError(error, HEADERS);
  expect(kept).toBeInstanceOf(RangeError);
  expect(kept.message).toBe("too fast");
  expect(kept.headers["Retry-After"]).toBe("12");
});

test.each([undefined, null, "too fast", { status: 429 }])("%j becomes an error", (reason) => {
  const kept = addHeadersToError(reason, HEADERS);
  expect(kept).toBeInstanceOf(Error);
  expect(kept.cause).toBe(reason);
  expect(kept.headers["Retry-After"]).toBe("12");
});
