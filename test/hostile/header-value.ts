import { fc } from "@fast-check/vitest";
import { expect } from "vitest";
import type { RawAnswer } from "./raw-http.ts";

/** A part of every value, by which a leaked value is found. */
export const MARK = "s3cr3t";

/** The headers that an answer may have: Headgate's, and those that Node and the frameworks add. */
const FIELDS = new Set([
  ...["ratelimit", "ratelimit-policy", "x-ratelimit-limit", "x-ratelimit-remaining"],
  ...["x-ratelimit-reset", "retry-after", "cache-control", "content-type", "content-length"],
  ...["connection", "date", "keep-alive", "transfer-encoding", "x-powered-by", "etag"],
  ...["content-security-policy", "x-content-type-options"],
]);

/** A field value of RFC 9110 §5.5, one byte per character: no control characters, and no spaces at its ends. */
export const headerValue: fc.Arbitrary<string> = fc
  .oneof(
    fc
      .array(fc.oneof(fc.integer({ min: 0x20, max: 0x7e }), fc.integer({ min: 0x80, max: 0xff })), {
        maxLength: 40,
      })
      .map((bytes) => String.fromCharCode(...bytes)),
    fc.string({ unit: fc.constantFrom(..."{}:#%*~@/\\\"',;= \t\x80\xff7du"), maxLength: 12 }),
    fc
      .tuple(fc.constantFrom(..."a{%\x80\xff"), fc.constantFrom(64, 65, 1_000, 12_000))
      .map(([sign, times]) => sign.repeat(times)),
  )
  .map((text) => `${MARK}${text}.`);

/** Expects an answer without a header of unknown name, and without any of these texts. */
export function expectNothingOf(answer: RawAnswer, marks: readonly string[]): void {
  for (const [name] of answer.fields) expect([...FIELDS]).toContain(name);
  for (const mark of marks) expect(answer.bytes.includes(mark)).toBe(false);
}
