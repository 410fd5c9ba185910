import { createHash } from "node:crypto";
import { fc } from "@fast-check/vitest";
import { SCALE } from "../conformance/random/histories.ts";

/** `HEADGATE_SEED` changes the seed. A failure names the seed and the path to the smallest example. */
const SEED = Number(process.env["HEADGATE_SEED"] ?? 20_261_120);

/** The number of runs of a property; 25 times as many with `HEADGATE_LONG=1`. */
export const runs = (numRuns: number) => ({ seed: SEED, numRuns: numRuns * SCALE });

/** Characters with a special meaning in Redis, its clients, keys, terminals, HTTP or JSON. */
const SIGNS = [
  ..."{}:#%*?[]^\\~@/.-_|&=;,<>$`'\"()!+ \t\r\n\v\f\0\x01\x1b\x7f\x80\xffaA0zZ",
  ...["\ud800", "\udbff", "\udc00", "\udfff", "\ufffd", "\ufeff", "\ufffe", "\u2028", "\u2029"],
  ...["\u202e", "\u200f", "\u200b", "\u061c", "א", "ب", "é", "e\u0301", "ß", "İ", "ı", "ſ", "ﬀ"],
  ...["💧", "👩‍👩‍👧", "🏳️‍🌈", "％", "｛", "：", "٪"],
];

/** Texts with a special meaning: members of objects, commands, keys, globs, escapes, hashes, addresses. */
const WORDS = [
  ...["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "undefined", "null"],
  ...[
    "NaN",
    "true",
    "0",
    "-1",
    "1e400",
    "*",
    "**",
    "?",
    "[a-z]",
    "h?llo",
    "\\*",
    "*2\r\n$3\r\nDEL",
  ],
  ...["}", "{", "{}", "}{", "}:other:default:AAAAAAAA", "{a}:b", "a}:log1", "hg:{a}:api:default:x"],
  ...["%7d", "%7D", "%257d", "%", "%%", "%u", "%u007d", "%u20ac", "%zz", "%2a", "~", "~~", "~ip~"],
  ...[
    "~sha256~a",
    "~hmac~a",
    "~ip~1.2.3.4",
    "~text~a",
    "#",
    "##",
    "1.2.3.4",
    "::1",
    "2001:db8::/64",
  ],
  ...["\r\nX-Evil: 1", "a\r\n\r\nb", "';DROP TABLE--", "../../etc/passwd", "\x1b[31mred"],
  ...["FLUSHALL", "return redis.call('FLUSHALL')", "KEYS[1]", "\u0000", "İSTANBUL", "ﷺ".repeat(30)],
];

/** A malicious subject, which is never empty. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...WORDS),
  fc.string({ unit: fc.constantFrom(...SIGNS), minLength: 1, maxLength: 12 }),
  fc.string({ unit: fc.constantFrom(...WORDS), minLength: 1, maxLength: 6 }),
  fc.string({ unit: "binary", minLength: 1, maxLength: 30 }),
  fc.array(fc.nat(0xffff), { minLength: 1, maxLength: 30 }).map((units) => {
    return String.fromCharCode(...units);
  }),
  // Lengths around the limit at which a part of a key becomes a hash, and far above it.
  fc
    .tuple(fc.constantFrom("a", "{", "é", "€", "\ud800", "💧"), fc.integer({ min: 9, max: 70 }))
    .map(([unit, times]) => unit.repeat(times)),
  fc
    .tuple(fc.constantFrom(...SIGNS), fc.integer({ min: 100, max: 20_000 }))
    .map(([unit, times]) => unit.repeat(times)),
);

/** Functions that turn a text into another one that a careless key would not distinguish from it. */
const TWINS: readonly ((text: string) => string)[] = [
  (text) => encodeURIComponent(text.toWellFormed()),
  (text) => text.toWellFormed(),
  (text) => text.normalize("NFC"),
  (text) => text.normalize("NFKD"),
  (text) => text.toUpperCase(),
  (text) => text.toLowerCase(),
  (text) => text.trim(),
  (text) => `${text}\0`,
  (text) => `${text}}`,
  (text) => `{${text}}`,
  (text) => `~${text}`,
  (text) => `#${text}`,
  (text) => Buffer.from(text).toString("latin1"),
  (text) => Buffer.from(text, "latin1").toString(),
  (text) => escape(text),
  (text) => escape(text).toLowerCase(),
  (text) => `#${createHash("sha256").update(text).digest("base64url")}`,
  (text) => `#${createHash("sha256").update(escape(text).toLowerCase()).digest("base64url")}`,
];

/** Different texts, many of which are easily confused. */
export const hostileFamily: fc.Arbitrary<string[]> = fc
  .array(fc.tuple(hostileText, fc.subarray([...TWINS])), { minLength: 1, maxLength: 12 })
  .map((seeds) => [
    ...new Set(seeds.flatMap(([text, twins]) => [text, ...twins.map((twin) => twin(text))])),
  ])
  .map((texts) => texts.filter((text) => text !== ""));
