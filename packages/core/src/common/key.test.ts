import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { escapePart, escapeSubject, fingerprint } from "./key.ts";

/** Texts that try to be each other: separators, escapes, hashes, lone surrogates, and all lengths about the longest part. */
const hostile = fc.oneof(
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.string({
    unit: fc.constantFrom(
      ..."{}:#%*~@/.-_u0aA \n\0\x7fé",
      "%25",
      "%u",
      "\ud800",
      "\udfff",
      "💧",
      "ÿ",
      "Ā",
    ),
    maxLength: 12,
  }),
  fc.string({ unit: fc.constantFrom("a", "b", ":", "{"), minLength: 60, maxLength: 70 }),
  fc.string({ minLength: 0, maxLength: 200 }),
);

/** A pair that differs as little as it can, half of the time. */
const pair = fc.oneof(
  fc.tuple(hostile, hostile),
  fc
    .tuple(hostile, fc.constantFrom(":", "{", "}", "%", "#", "\ud800", "%7b", "u"))
    .map(([text, more]) => [text, text + more] as const),
  hostile.map((text) => [text, escapePart(text)] as const),
  hostile.map((text) => [text, escapeSubject(text)] as const),
  hostile.map((text) => [text, text.toWellFormed()] as const),
);

const writers = [
  ["escapePart", escapePart],
  ["escapeSubject", escapeSubject],
] as const;

describe.each(writers)("%s", (name, write) => {
  test.prop([pair], { numRuns: 5_000 })("two texts have two parts", ([a, b]) => {
    expect(write(a) === write(b)).toBe(a === b);
  });

  test.prop([hostile], { numRuns: 2_000 })("writes only bytes that are safe in a key", (text) => {
    const safe = name === "escapeSubject" ? /^[\w.~@/:%#-]*$/ : /^[\w.~@/%#-]*$/;
    expect(write(text)).toMatch(safe);
  });

  test.prop([hostile], { numRuns: 2_000 })("writes at most 64 bytes", (text) => {
    expect(Buffer.byteLength(write(text))).toBeLessThanOrEqual(64);
  });

  test.prop([hostile], { numRuns: 2_000 })("a literal part never looks like a hash", (text) => {
    const part = write(text);
    const isHash = part.startsWith("#");
    if (isHash) expect(part).toMatch(/^#[\w-]{43}$/);
    else expect(part).not.toContain("#");
    // A client who sends the hash of another client as its own name is not that client.
    expect(write(part) === part).toBe(!isHash && !part.includes("%"));
  });

  test("a part of more than 64 bytes, with its escapes, is replaced by a hash", () => {
    expect(write("a".repeat(64))).toBe("a".repeat(64));
    expect(write("a".repeat(65))).toMatch(/^#[\w-]{43}$/);
    expect(write("{".repeat(21))).toHaveLength(63);
    expect(write("{".repeat(22))).toMatch(/^#/);
    expect(write("a".repeat(65))).not.toBe(write("a".repeat(66)));
    expect(write("x".repeat(12_000))).toHaveLength(44);
  });

  test("code units that share their bytes have different parts", () => {
    // As UTF-8 every lone surrogate would be the same replacement character.
    expect(new Set(["\ud800", "\ud801", "\udfff", "\ufffd"].map(write)).size).toBe(4);
    expect(write("\u0101")).not.toBe(write("\x01" + "01"));
    expect(write("\x01")).toBe("%01");
    expect(write("€")).toBe("%u20ac");
    expect(write("%u20ac")).toBe("%25u20ac");
  });
});

test("colons stay readable in a subject, and are escaped in a part", () => {
  expect(escapeSubject("2001:db8::/64")).toBe("2001:db8::/64");
  expect(escapePart("2001:db8::/64")).toBe("2001%3adb8%3a%3a/64");
  expect(escapeSubject("user@example.com")).toBe("user@example.com");
});

test("a subject cannot leave the hash tag", () => {
  expect(escapeSubject("}:other{")).toBe("%7d:other%7b");
  expect(escapeSubject("{a}")).toBe("%7ba%7d");
});

test("fingerprints are eight characters that distinguish policies", () => {
  const policies = Array.from({ length: 10_000 }, (_, i) => `default=gcra(${i},1000000,${i})`);
  const prints = policies.map(fingerprint);
  expect(new Set(prints).size).toBe(policies.length);
  expect(prints.every((print) => /^[\w-]{8}$/.test(print))).toBe(true);
});
