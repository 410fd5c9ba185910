import { expect, test } from "vitest";
import { gcra } from "../algorithms/gcra.ts";
import { escapeSubject } from "../common/key.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { CountingStore, ScriptTransport } from "../store/store.ts";
import { requireStore } from "../store/store.ts";
import { compileLimiterPolicy } from "./compiled-policy.ts";
import { countersOf } from "./counters.ts";

const SUBJECTS = [
  "user-1",
  "2001:db8::/64",
  "}:other{",
  "#hash",
  "é",
  "x".repeat(64),
  "x".repeat(65),
];

function keysIn(store: CountingStore): { readonly suffix: string; keyOf(subject: string): string } {
  const counted = compileLimiterPolicy("api", gcra({ limit: 1, window: "1s" }), store);
  return {
    suffix: counted.groups[0]?.keySuffix as string,
    keyOf: (subject) => countersOf(counted, subject)[0]?.key as string,
  };
}

/** A store on servers, as far as keys are concerned. */
function remoteStore(): CountingStore {
  return { ...requireStore(memoryStore()), prefix: "hg", transport: {} as ScriptTransport };
}

test("every subject has one counter key of its own, the same for every call", () => {
  const { suffix, keyOf } = keysIn(remoteStore());
  const first = SUBJECTS.map(keyOf);
  expect(first).toEqual(SUBJECTS.map((subject) => `hg:{${escapeSubject(subject)}${suffix}`));
  expect(SUBJECTS.map(keyOf)).toEqual(first);
  expect(new Set(first).size).toBe(SUBJECTS.length);
});

test("counter keys stay the same when there are more subjects than the key cache holds", () => {
  const { suffix, keyOf } = keysIn(remoteStore());
  for (let i = 0; i < 10_000; i += 1) {
    expect(keyOf(`user-${i}`)).toBe(`hg:{user-${i}${suffix}`);
    expect(keyOf(`user-${i >> 1}`)).toBe(`hg:{user-${i >> 1}${suffix}`);
  }
});

test("in memory, a subject of up to 64 characters is its own key, and no other subject has the same key", () => {
  const { keyOf } = keysIn(requireStore(memoryStore()));
  const short = SUBJECTS.filter((subject) => subject.length <= 64 && subject !== "#hash");
  expect(short.map(keyOf)).toEqual(short);
  const long = keyOf("x".repeat(65));
  const others = [
    ...SUBJECTS,
    "%23hash",
    "#%23hash",
    long,
    `#${long}`,
    long.slice(1),
    "y".repeat(65),
  ];
  const keys = others.map(keyOf);
  expect(new Set(keys).size).toBe(others.length);
  for (const key of keys) expect(key.length).toBeLessThanOrEqual(65);
});
