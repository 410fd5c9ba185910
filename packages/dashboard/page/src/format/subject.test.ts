import { expect, test } from "vitest";
import { limitInWords, subjectInWords } from "./subject.ts";

test("a subject is named by its value, and by its dimensions where they have names", () => {
  expect(subjectInWords(undefined)).toBe("all subjects");
  expect(subjectInWords({ default: "203.0.113.7" })).toBe("203.0.113.7");
  expect(subjectInWords({ tenant: "acme", user: "ada" })).toBe("tenant acme, user ada");
});

test("a limit in words leaves out what stands beside it", () => {
  expect(limitInWords("burst: 20 per 10 seconds for each client (gcra)", "burst")).toBe(
    "20 per 10 seconds for each client",
  );
  expect(limitInWords("5 per hour (blocks)", "5-per-1h")).toBe("5 per hour (blocks)");
});
