import { expect, test, vi } from "vitest";
import { shareByClient, shareByPrefix, shareInProcess } from "./client-state.ts";

test("state of a client is created once, even if another copy declares it again", () => {
  const [one, other] = [{}, {}];
  const make = vi.fn((_: object) => new Set<string>());
  const here = shareByClient("ignoredOverrides", make);
  const there = shareByClient("ignoredOverrides", make);
  here(one).add("seen");
  expect(there(one)).toEqual(new Set(["seen"]));
  expect(here(other)).toEqual(new Set());
  expect(make.mock.calls).toEqual([[one], [other]]);
});

test("state of a prefix is created again after it was dropped", () => {
  const owner = {};
  const drops: (() => void)[] = [];
  const of = shareByPrefix("usage", ({ prefix }, drop) => {
    drops.push(drop);
    return { prefix };
  });
  const first = of({ owner, prefix: "a" });
  expect(of({ owner, prefix: "b" })).toEqual({ prefix: "b" });
  expect(of({ owner, prefix: "a" })).toBe(first);
  drops[0]?.();
  expect(of({ owner, prefix: "a" })).not.toBe(first);
});

test("state of the process is shared by all copies", () => {
  const times = shareInProcess("usageIntervals", () => ({}));
  expect(shareInProcess("usageIntervals", () => ({}))()).toBe(times());
});
