import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import type { TargetTracker } from "./target-tracker.ts";
import { TrackerRegistry } from "./tracker-registry.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** A registry, and the names of the trackers created since the last call of `created`. */
function start(maxTargets: number) {
  const created: string[] = [];
  const registry = new TrackerRegistry(maxTargets, (name) => {
    created.push(name);
    return { name } as TargetTracker;
  });
  return { registry, created: () => created.splice(0) };
}

/** Collects garbage. Weak references that were read in this turn are held until the turn ends. */
async function collectUnreferenced(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  await new Promise((resolve) => setImmediate(resolve));
}

describe("the trackers of a breaker", () => {
  test("a target has one tracker", () => {
    const { registry, created } = start(2);
    const tracker = registry.get("a");
    expect(registry.get("a")).toBe(tracker);
    expect(registry.get("b")).not.toBe(tracker);
    expect(created()).toEqual(["a", "b"]);
  });

  test("the last used trackers are kept without references", async () => {
    const { registry, created } = start(2);
    for (const name of ["a", "b", "a", "c"]) registry.get(name);
    created();
    await collectUnreferenced();
    registry.get("a");
    registry.get("c");
    expect(created()).toEqual([]);
    registry.get("b");
    expect(created()).toEqual(["b"]);
  });

  test("a referenced tracker is kept, however many others are used", async () => {
    const { registry } = start(1);
    const held = registry.get("a");
    for (let i = 0; i < 100; i += 1) registry.get(`t${i}`);
    await collectUnreferenced();
    expect(registry.get("a")).toBe(held);
    registry.get("b");
    await collectUnreferenced();
    expect(registry.get("a")).toBe(held);
  });

  test("called targets are listed in order of last use, then those that are only referenced", async () => {
    const registry = new TrackerRegistry(
      3,
      (name) => ({ name, view: name === "idle" ? undefined : {} }) as TargetTracker,
    );
    const held = registry.get("held");
    for (const name of ["gone", "a", "b", "idle", "a"]) registry.get(name);
    await collectUnreferenced();
    expect([...registry.calledTargets()]).toEqual(["a", "b", held.name]);
  });

  test("a tracker that was created again is not removed when the old one is collected", async () => {
    const { registry, created } = start(1);
    registry.get("a");
    registry.get("b");
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
    created();
    const held = registry.get("a");
    expect(created()).toEqual(["a"]);
    // The registry is notified only now that the first tracker was collected.
    await collectUnreferenced();
    registry.get("b");
    expect(registry.get("a")).toBe(held);
  });

  test("unreferenced trackers beyond maxTargets are garbage-collected", async () => {
    const { registry, created } = start(10);
    for (let i = 0; i < 1_000; i += 1) registry.get(`t${i}`);
    created();
    await collectUnreferenced();
    for (let i = 999; i >= 0; i -= 1) registry.get(`t${i}`);
    expect(created()).toHaveLength(990);
  });
});
