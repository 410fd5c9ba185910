import { expect, test } from "vitest";
import { formatSubject, shortenLimit } from "./subject.ts";

test("a subject is named by its value, and by its dimensions where they have names", () => {
  expect(formatSubject(undefined)).toBe("all subjects");
  expect(formatSubject({ default: "203.0.113.7" })).toBe("203.0.113.7");
  expect(formatSubject({ tenant: "acme", user: "ada" })).toBe("tenant acme, user ada");
});

test("a limit in words leaves out what stands beside it", () => {
  expect(shortenLimit("burst: 20 per 10 seconds for each client (gcra)", "burst")).toBe(
    "20 per 10 seconds for each client",
  );
  expect(shortenLimit("5 per hour (blocks)", "5-per-1h")).toBe("5 per hour (blocks)");
});
