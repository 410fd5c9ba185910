import { expect, test } from "vitest";
import { formatBytes, formatSubject, shortenLimit, truncateVisible } from "./text.ts";

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

test("a long text is truncated, even in the middle of a character", () => {
  expect(truncateVisible("abc", 3)).toBe("abc");
  expect(truncateVisible("a\u202eb", 3)).toBe("a\\u{202e}b");
  expect(truncateVisible("ab😀", 3)).toBe("ab\\u{d83d}…");
  expect(truncateVisible("x".repeat(1_000_000), 10)).toHaveLength(11);
});

test("bytes are formatted in units of 1,024", () => {
  expect(formatBytes(0)).toBe("0 bytes");
  expect(formatBytes(40_055_603)).toBe("38.2 MB");
});
