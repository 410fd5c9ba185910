import { expect, test } from "vitest";
import { asFailure, formatFailure, parseFailure } from "./failure.ts";

test("a failure is explained by the server's message, or else by its status", () => {
  const body = { error: { code: "TOO_MANY", message: "at most 60 actions a minute" } };
  expect(formatFailure(parseFailure(429, body, "12"))).toBe(
    "At most 60 actions a minute. Try again in 12 s.",
  );
  expect(formatFailure(parseFailure(503, undefined, null))).toBe("Redis does not answer.");
  expect(formatFailure(parseFailure(502, "<html>", "soon"))).toBe("The server answered with 502.");
  expect(formatFailure(asFailure(new TypeError("Failed to fetch")))).toBe(
    "The dashboard's server does not answer.",
  );
});
