import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import type { TargetTracker } from "./target-tracker.ts";
import { TrackerRegistry } from "./tracker-registry.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** A registry, and the targets for which a link was made since the last time. */
function start(maxTargets: number) {
  const made: string[] = [];
  const registry = new TrackerRegistry(maxTargets, (name) => {
    made.push(name);
    return { name } as TargetTracker;
  });
  return { registry, made: () => made.splice(0) };
}

/** Lets go what nobody holds; what was looked at in this turn is held until it is over. */
async function letGo(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  collectGarbage();
  await new Promise((resolve) => setImmediate(resolve));
}

describe("the trackers of a breaker", () => {
  test("a target has one tracker", () => {
    const { registry, made } = start(2);
    const tracker = registry.get("a");
    expect(registry.get("a")).toBe(tracker);
    expect(registry.get("b")).not.toBe(tracker);
    expect(made()).toEqual(["a", "b"]);
  });

  test("the last used trackers are kept without references", async () => {
    const { registry, made } = start(2);
    for (const name of ["a", "b", "a", "c"]) registry.get(name);
    made();
    await letGo();
    registry.get("a");
    registry.get("c");
    expect(made()).toEqual([]);
    registry.get("b");
    expect(made()).toEqual(["b"]);
  });

  test("a referenced tracker is kept, however many others are used", async () => {
    const { registry } = start(1);
    const held = registry.get("a");
    for (let i = 0; i < 100; i += 1) registry.get(`t${i}`);
    await letGo();
    expect(registry.get("a")).toBe(held);
    registry.get("b");
    await letGo();
    expect(registry.get("a")).toBe(held);
  });

  test("called targets are listed in order of last use, then those that are only referenced", async () => {
    const registry = new TrackerRegistry(
      3,
      (name) => ({ name, view: name === "idle" ? undefined : {} }) as TargetTracker,
    );
    const held = registry.get("held");
    for (const name of ["gone", "a", "b", "idle", "a"]) registry.get(name);
    await letGo();
    expect([...registry.calledTargets()]).toEqual(["a", "b", held.name]);
  });

  test("a tracker that was created again is not removed when the old one is collected", async () => {
    const { registry, made } = start(1);
    registry.get("a");
    registry.get("b");
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
    made();
    const held = registry.get("a");
    expect(made()).toEqual(["a"]);
    // It is told now that the first is gone.
    await letGo();
    registry.get("b");
    expect(registry.get("a")).toBe(held);
  });

  test("unreferenced trackers beyond maxTargets are garbage-collected", async () => {
    const { registry, made } = start(10);
    for (let i = 0; i < 1_000; i += 1) registry.get(`t${i}`);
    made();
    await letGo();
    for (let i = 999; i >= 0; i -= 1) registry.get(`t${i}`);
    expect(made()).toHaveLength(990);
  });
});
