import { expect, test } from "vitest";
import { escapeSubject } from "../base/key.ts";
import { SubjectKeys } from "./subject-keys.ts";

const SUBJECTS = [
  "user-1",
  "2001:db8::/64",
  "}:other{",
  "#hash",
  "é",
  "x".repeat(64),
  "x".repeat(65),
];

test("a key is the same each time, for each subject another one", () => {
  const keys = new SubjectKeys("hg:{", "}:api");
  const first = SUBJECTS.map((subject) => keys.of(subject));
  expect(first).toEqual(SUBJECTS.map((subject) => `hg:{${escapeSubject(subject)}}:api`));
  expect(SUBJECTS.map((subject) => keys.of(subject))).toEqual(first);
  expect(new Set(first).size).toBe(SUBJECTS.length);
});

test("nor do more subjects than are kept change it", () => {
  const keys = new SubjectKeys("hg:{", "}:api");
  for (let i = 0; i < 10_000; i += 1) {
    expect(keys.of(`user-${i}`)).toBe(`hg:{user-${i}}:api`);
    expect(keys.of(`user-${i >> 1}`)).toBe(`hg:{user-${i >> 1}}:api`);
  }
});
