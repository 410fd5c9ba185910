import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { BREAKER_CHANNELS, createBreaker } from "@headgate/breaker";
import { memoryStore } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { codeIn, page, section, tablesOf } from "./markdown.ts";

const PAGE = page("docs/reference/breaker.md");
const CHANNELS = section(PAGE, "Channels");
const rows = tablesOf(CHANNELS)[0]?.rows ?? [];

/** The fields of the messages, by the channel's name in `BREAKER_CHANNELS`. */
const FIELDS: Readonly<Record<keyof typeof BREAKER_CHANNELS, string>> = {
  state:
    "breaker calls causedHere degraded failures from openForMs openings slowCallRate slowCalls successRate target to",
  rejected: "breaker degraded retryAfterMs state target",
  degraded: "breaker reason target",
  call: "breaker outcome slow target",
  snapshot:
    "breaker calls degraded failures openings retryAfterMs slowCallRate slowCalls state successRate successes target",
};

/** The first message on each channel, by the channel's name. */
const published = new Map<string, object>();
const stops: (() => unknown)[] = [];

beforeAll(async () => {
  for (const name of Object.values(BREAKER_CHANNELS)) {
    const listen = (message: unknown): void => {
      if (!published.has(name)) published.set(name, message as object);
    };
    subscribe(name, listen);
    stops.push(() => unsubscribe(name, listen));
  }
  // 21 calls, 11 failures, 7 of them slow, and a call 1.5 s later.
  let now = 1_800_000_000_000;
  const store = memoryStore({ clock: () => now });
  const breaker = createBreaker({ name: "payments", store, slowCall: "2s", slowCallRate: 0.8 });
  const bank = breaker.for("bank-eu");
  for (let i = 0; i < 21; i += 1) {
    await bank.record(i % 2 === 0 ? "failure" : "success", i % 3 === 0 ? 2_500 : 100);
  }
  now += 1_500;
  await bank.admit();
  // Nothing listens on this address.
  const redis = new Redis("/nowhere/redis.sock");
  redis.on("error", () => {});
  const away = createBreaker({ name: "away", store: redisStore(redis) });
  await away.admit();
  stops.push(
    () => breaker.close(),
    () => away.close(),
    () => redis.disconnect(),
  );
});

afterAll(async () => {
  for (const stop of stops) await stop();
});

test("the table of channels lists exactly the existing channels", () => {
  const documented = rows.map(([key = "", name = ""]) => [codeIn(key)[0], codeIn(name)[0]]);
  expect(Object.fromEntries(documented)).toEqual(BREAKER_CHANNELS);
});

test.each(Object.entries(BREAKER_CHANNELS))(
  "messages on %s have the documented fields",
  (key, name) => {
    const fields = Object.keys(published.get(name) ?? {}).sort();
    expect(fields.join(" ")).toBe(FIELDS[key as keyof typeof FIELDS]);
  },
);

test("a state change carries the rates that caused it, and a rejected call the time to retry", () => {
  expect(published.get(BREAKER_CHANNELS.state)).toEqual({
    breaker: "payments",
    target: "bank-eu",
    from: "closed",
    to: "open",
    causedHere: true,
    calls: 21,
    failures: 11,
    slowCalls: 7,
    successRate: 10 / 21,
    slowCallRate: 1 / 3,
    openings: 1,
    openForMs: 30_000,
    degraded: false,
  });
  expect(published.get(BREAKER_CHANNELS.rejected)).toEqual({
    breaker: "payments",
    target: "bank-eu",
    state: "open",
    retryAfterMs: 28_500,
    degraded: false,
  });
});
