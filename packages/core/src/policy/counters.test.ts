import { expect, test } from "vitest";
import { gcra } from "../algorithms/gcra.ts";
import { escapeSubject } from "../common/key.ts";
import { memoryStore } from "../store/memory-store.ts";
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

function keysIn(): { readonly suffix: string; keyOf(subject: string): string } {
  const counted = compileLimiterPolicy(
    "api",
    gcra({ limit: 1, window: "1s" }),
    requireStore(memoryStore()),
  );
  return {
    suffix: counted.groups[0]?.keySuffix as string,
    keyOf: (subject) => countersOf(counted, subject)[0]?.key as string,
  };
}

test("every subject has one counter key of its own, the same for every call", () => {
  const { suffix, keyOf } = keysIn();
  const first = SUBJECTS.map(keyOf);
  expect(first).toEqual(SUBJECTS.map((subject) => `memory:{${escapeSubject(subject)}${suffix}`));
  expect(SUBJECTS.map(keyOf)).toEqual(first);
  expect(new Set(first).size).toBe(SUBJECTS.length);
});

test("counter keys stay the same when there are more subjects than the key cache holds", () => {
  const { suffix, keyOf } = keysIn();
  for (let i = 0; i < 10_000; i += 1) {
    expect(keyOf(`user-${i}`)).toBe(`memory:{user-${i}${suffix}`);
    expect(keyOf(`user-${i >> 1}`)).toBe(`memory:{user-${i >> 1}${suffix}`);
  }
});
