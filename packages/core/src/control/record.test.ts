import { describe, expect, test } from "vitest";
import type { ControlRecord } from "./record.ts";
import { MAX_OVERRIDES, NO_RECORD, readRecord, writeRecord } from "./record.ts";

const FROM = 1_900_000_000_000_000;

const override = {
  limiter: "api",
  subject: { default: 'ann "":-5 \u2028 \ud800', tenant: "acme" },
  limits: { "100-per-1m": { limit: 5, burst: 1 }, bucket: { capacity: 9, refill: 1 } },
  shadow: false,
  from: FROM,
  until: FROM + 1,
};
const order = { limiter: "api", subject: { default: "ann" }, kind: "block", from: FROM } as const;
const record: ControlRecord = {
  version: FROM,
  overrides: [override, { limiter: "login", shadow: true, from: FROM, until: null }],
  orders: [order],
  droppedTo: FROM - 1,
};

test("what is written is read, the version alone too", () => {
  const text = writeRecord(record);
  expect(readRecord(text)).toEqual(record);
  expect(Number(text.slice(0, 16))).toBe(FROM);
  expect(readRecord(writeRecord({ ...NO_RECORD, version: 7 }))).toEqual({
    ...NO_RECORD,
    version: 7,
  });
});

test("no text is no record", () => {
  expect(readRecord("")).toEqual({ version: 0, overrides: [], orders: [] });
});

/** A record's text with something else in place of a part. */
const withBody = (body: unknown): string => `0000000000000001${JSON.stringify(body)}`;
const sound = { format: 1, overrides: [override], orders: [order] };

test("the body that the next ones spoil is sound", () => {
  expect(readRecord(withBody(sound))).toMatchObject({ version: 1, orders: [order] });
});

describe("a record with one invalid part is not read at all:", () => {
  test.each([
    "1",
    "0000000000000001",
    "000000000000000x{}",
    `000000000000001${JSON.stringify(sound)}`,
    withBody(null),
    withBody([]),
    withBody({ ...sound, format: 2 }),
    withBody({ ...sound, more: 1 }),
    withBody({ ...sound, droppedTo: "1" }),
    withBody({ format: 1, orders: [] }),
    withBody({ ...sound, overrides: { 0: override } }),
    writeRecord(record).slice(0, -1),
  ])("%s", (text) => {
    expect(readRecord(text)).toBeUndefined();
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
    expect(
      readRecord(withBody({ ...sound, overrides: [override, { ...override, ...part }] })),
    ).toBeUndefined();
  });

  test.each([
    { limiter: "" },
    { subject: {} },
    { subject: undefined },
    { kind: "forget" },
    { from: 0.5 },
    { until: null },
  ])("an order with %j", (part) => {
    expect(
      readRecord(withBody({ ...sound, orders: [order, { ...order, ...part }] })),
    ).toBeUndefined();
  });

  test("more overrides than there may be", () => {
    const many = (count: number) => withBody({ ...sound, overrides: Array(count).fill(override) });
    expect(readRecord(many(MAX_OVERRIDES))?.overrides).toHaveLength(1_000);
    expect(readRecord(many(MAX_OVERRIDES + 1))).toBeUndefined();
  });
});
