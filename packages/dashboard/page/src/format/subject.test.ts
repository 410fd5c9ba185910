import { expect, test } from "vitest";
import { formatSubject, shortenLimit } from "./subject.ts";

test("a subject is formatted by its value, with the names of its dimensions if they have any", () => {
  expect(formatSubject(undefined)).toBe("all subjects");
  expect(formatSubject({ default: "203.0.113.7" })).toBe("203.0.113.7");
  expect(formatSubject({ tenant: "acme", user: "ada" })).toBe("tenant acme, user ada");
});

test("a shortened limit leaves out its name and its algorithm", () => {
  expect(shortenLimit("burst: 20 per 10 seconds for each client (gcra)", "burst")).toBe(
    "20 per 10 seconds for each client",
  );
  expect(shortenLimit("5 per hour (blocks)", "5-per-1h")).toBe("5 per hour (blocks)");
});
