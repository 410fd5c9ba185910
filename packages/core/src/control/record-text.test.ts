import { describe, expect, test } from "vitest";
import type { ControlRecord, DeniedNetwork, Invalidation } from "./record.ts";
import { MAX_DENIED, MAX_INVALIDATIONS, MAX_OVERRIDES, NO_RECORD } from "./record.ts";
import { formatRecord, MAX_LINE_CHARACTERS, parseRecord, parseRecordAsync } from "./record-text.ts";

const FROM = 1_900_000_000_000_000;

const override = {
  limiter: "api",
  subject: { default: 'ann "":-5 \u2028 \ud800', tenant: "acme" },
  limits: { "100-per-1m": { limit: 5, burst: 1 }, bucket: { capacity: 9, refill: 1 } },
  shadow: false,
  from: FROM,
  until: FROM + 1,
};
const invalidation = {
  limiter: "api",
  subject: { default: "ann" },
  kind: "block",
  from: FROM,
} as const;
const denied = { network: "203.0.113.0/24", reason: "flood", by: "ann", from: FROM, until: null };

const record: ControlRecord = {
  version: FROM,
  overrides: [override, { limiter: "login", shadow: true, from: FROM, until: null }],
  invalidations: [invalidation],
  denyList: [denied, { network: "2001:db8::1", from: FROM, until: FROM + 1 }],
  invalidateAllBefore: FROM - 1,
};

test("a formatted record is parsed again, and its version alone", () => {
  const text = formatRecord(record);
  expect(parseRecord(text)).toEqual(record);
  expect(Number(text.slice(0, 16))).toBe(FROM);
  expect(parseRecord(formatRecord({ ...NO_RECORD, version: 7 }))).toEqual({
    ...NO_RECORD,
    version: 7,
  });
});

test("an empty text is no record", () => {
  expect(parseRecord("")).toEqual({ version: 0, overrides: [], invalidations: [] });
});

/** A record's text of a head and lines. */
const withLines = (head: unknown, ...lines: readonly string[]): string =>
  [`0000000000000001${JSON.stringify(head)}`, ...lines].join("\n");

const line = (kind: string, item: unknown): string => `${kind} ${JSON.stringify(item)}`;

const sound = { format: 2 };

test("the text that the following tests damage is valid", () => {
  const text = withLines(sound, line("override", override), line("invalidation", invalidation));
  expect(parseRecord(text)).toMatchObject({ version: 1, invalidations: [invalidation] });
});

describe("a record with one invalid part is rejected as a whole:", () => {
  test.each([
    ["a short text", "1"],
    ["a version alone", "0000000000000001"],
    ["a version that is no number", "000000000000000x{}"],
    ["a version that is too short", `000000000000001${JSON.stringify(sound)}`],
    ["a first line of null", withLines(null)],
    ["a list as the first line", withLines([])],
    ["a first line without its fields", withLines({ format: 1 })],
    ["an unknown field", withLines({ ...sound, more: 1 })],
    ["a time in quotes", withLines({ ...sound, invalidateAllBefore: "1" })],
    ["an empty line", withLines(sound, "")],
    ["a line of its kind alone", withLines(sound, "override")],
    ["a kind that every object inherits", withLines(sound, line("toString", {}))],
    ["an unknown kind", withLines(sound, line("overrides", override))],
    ["a line without its kind", withLines(sound, JSON.stringify(override))],
    ["a list as an override", withLines(sound, line("override", [override]))],
    [
      "a line that is too long",
      withLines({ ...sound, invalidateAllBefore: 1, " ": "x".repeat(MAX_LINE_CHARACTERS) }),
    ],
    ["a record that is cut off", formatRecord(record).slice(0, -1)],
  ])("%s", (_, text) => {
    expect(parseRecord(text)).toBeUndefined();
  });

  test.each([
    { limiter: "" },
    { limiter: 5 },
    { subject: {} },
    { subject: { default: "" } },
    { subject: "ann" },
    { limits: { a: { limit: 1.5 } } },
    { limits: { a: { limit: -1 } } },
    { limits: { a: { limit: "1" } } },
    { limits: { a: { window: 5 } } },
    { limits: [1] },
    { shadow: 1 },
    { from: null },
    { from: -1 },
    { until: "1h" },
    { until: undefined },
    { more: 1 },
  ])("an override with %j", (part) => {
    const spoiled = line("override", { ...override, ...part });
    expect(parseRecord(withLines(sound, line("override", override), spoiled))).toBeUndefined();
  });

  test.each([
    { limiter: "" },
    { subject: {} },
    { subject: undefined },
    { kind: "forget" },
    { from: 0.5 },
    { until: null },
  ])("an order with %j", (part) => {
    const spoiled = line("invalidation", { ...invalidation, ...part });
    expect(
      parseRecord(withLines(sound, line("invalidation", invalidation), spoiled)),
    ).toBeUndefined();
  });

  test.each([
    { network: "203.0.113.0/33" },
    { network: "example.com" },
    { network: undefined },
    { reason: 1 },
    { by: null },
    { from: "1" },
    { until: undefined },
    { limiter: "api" },
  ])("an entry of the deny list with %j", (part) => {
    expect(parseRecord(withLines(sound, line("deny", { ...denied, ...part })))).toBeUndefined();
  });

  test.each([
    ["override", override, MAX_OVERRIDES],
    ["invalidation", invalidation, MAX_INVALIDATIONS],
    ["deny", denied, MAX_DENIED],
  ])("more of %s than there may be", (kind, item, most) => {
    const many = (count: number) => withLines(sound, ...Array(count).fill(line(kind, item)));
    expect(parseRecord(many(most))).toBeDefined();
    expect(parseRecord(many(most + 1))).toBeUndefined();
  });

  test("a line that is longer than any that Headgate writes", () => {
    const long = { ...override, limiter: "x".repeat(MAX_LINE_CHARACTERS) };
    expect(parseRecord(withLines(sound, line("override", long)))).toBeUndefined();
  });
});

/** The longest time between two turns of the event loop while work goes on, in milliseconds of this process's CPU. */
async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let isOver = false;
  let last = process.cpuUsage();
  const look = (): void => {
    const { user, system } = process.cpuUsage(last);
    longest = Math.max(longest, (user + system) / 1_000);
    last = process.cpuUsage();
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await work();
  isOver = true;
  look();
  return longest;
}

describe("a large record is parsed in several turns of the event loop,", () => {
  const many = (count: number, item: object) => Array.from({ length: count }, () => item);
  const full: ControlRecord = {
    version: FROM,
    overrides: Array.from({ length: MAX_OVERRIDES }, (_, i) => ({
      ...override,
      subject: Object.fromEntries(
        Array.from({ length: 8 }, (_, d) => [`dimension-${d}`, `subject-${i}-${d}`.padEnd(40)]),
      ),
    })),
    invalidations: many(MAX_INVALIDATIONS, invalidation) as Invalidation[],
    denyList: many(MAX_DENIED, denied) as DeniedNetwork[],
  };

  test("with the same result as at once, also the largest documented one", async () => {
    const text = formatRecord(full);
    expect(text.length).toBeGreaterThan(500_000);
    expect(await parseRecordAsync(text)).toEqual(parseRecord(text));
    expect(parseRecord(text)).toEqual(full);
  });

  test.each([
    ["the largest documented one", formatRecord(full)],
    ["empty lines", `0000000000000001{"format":2}${"\n".repeat(999_000)}`],
    ["objects", withLines(sound, `order [${"{},".repeat(300_000)}{}]`)],
    ["deep JSON", withLines(sound, `order ${"[".repeat(900_000)}`)],
    ["deep JSON as the head", `0000000000000001${"[".repeat(900_000)}`],
    ["lines of deep JSON", withLines(sound, ...many(15, {}).map(() => "[".repeat(65_000)))],
  ])("%s takes no turn longer than 20 ms", async (_, text) => {
    await parseRecordAsync(text);
    // A garbage collection may fall into one of three.
    const turns = [];
    for (let i = 0; i < 3; i += 1) turns.push(await longestTurn(() => parseRecordAsync(text)));
    expect(Math.min(...turns)).toBeLessThan(20);
  });
});
