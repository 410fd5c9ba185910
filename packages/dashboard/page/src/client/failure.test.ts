import { expect, test } from "vitest";
import { asFailure, failureInWords, failureOf } from "./failure.ts";

test("an error says what happened, in the server's words where it has any", () => {
  const body = { error: { code: "TOO_MANY", message: "at most 60 actions a minute" } };
  expect(failureInWords(failureOf(429, body, "12"))).toBe(
    "At most 60 actions a minute. Try again in 12 s.",
  );
  expect(failureInWords(failureOf(503, undefined, null))).toBe("Redis does not answer.");
  expect(failureInWords(failureOf(502, "<html>", "soon"))).toBe("The server answered with 502.");
  expect(failureInWords(asFailure(new TypeError("Failed to fetch")))).toBe(
    "The dashboard's server does not answer.",
  );
});
