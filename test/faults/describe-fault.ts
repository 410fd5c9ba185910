import { afterAll, describe, expect, test } from "vitest";
import type { Fault, Target } from "./faults/fault.ts";
import type { CallerFigures } from "./measure.ts";
import type { HeadgateFigures } from "./results.ts";
import { writeResults } from "./results.ts";
import { roundSeeds } from "./round-seeds.ts";
import { runHeadgate } from "./run-headgate.ts";
import { STORE_TIMEOUT_MS } from "./spans.ts";
import { describeVersions } from "./versions.ts";

/**
 * Allows for what a busy machine adds to `storeTimeout`. Headgate counts it in ticks of 10 ms: a tick up to 8 ms late is no stall, and
 * counts as 15 ms at most. The longest decision measured on two busy cores took 173 ms.
 */
const LONGEST_MS = STORE_TIMEOUT_MS * 1.2 + 80;

/** A call that takes longer hangs: no machine adds as much by being busy. */
const LONGEST_RAW_MS = 5_000;

const LONGEST_RECOVERY_MS = 1_000;

/** Declares the rounds of a fault, under load from the core and both adapters, through each client library. */
export function describeFault<T extends Target>(fault: Fault<T>): void {
  describe(fault.name, () => {
    const rounds: HeadgateFigures[] = [];

    test.each(roundSeeds)("seed %i", async (seed) => {
      const figures = await runHeadgate(fault, seed);
      rounds.push(figures);
      for (const caller of figures.callers) expectService(fault, caller);
      expectLogged(fault, figures);
      expect(figures.unhandled).toEqual({});
      expect(figures.listenersAfter).toBeLessThanOrEqual(figures.listenersBefore);
    });

    afterAll(() => {
      const ranOn = describeVersions(["ioredis", "redis", "fastify", "express"]);
      writeResults({ suite: "headgate", fault: fault.name, title: fault.title, ranOn, rounds });
    });
  });
}

function expectService(fault: Fault, figures: CallerFigures): void {
  const { caller, admitted, bound } = figures;
  expect(figures.errors, `${caller}: errors`).toEqual({});
  expect(figures.unanswered, `${caller}: requests without an answer`).toBe(0);
  // Net times leave out the stalls of the event loop: they are no wait for the store.
  expect(figures.longestNetMs, `${caller}: longest decision`).toBeLessThanOrEqual(LONGEST_MS);
  expect(figures.longestAnswerNetMs, `${caller}: longest answer`).toBeLessThanOrEqual(LONGEST_MS);
  expect(figures.longestMs, `${caller}: longest decision, stalls and all`).toBeLessThanOrEqual(
    LONGEST_RAW_MS,
  );
  expect(admitted, `${caller}: admitted`).toBeLessThanOrEqual(bound);
  expect(figures.recoveryMs, `${caller}: recovery`).not.toBeNull();
  expect(figures.recoveryNetMs, `${caller}: recovery`).toBeLessThanOrEqual(LONGEST_RECOVERY_MS);
  if (fault.degrades !== "none") expect(figures.degraded, `${caller}: degraded`).toBeGreaterThan(0);
}

/** Each change of state is published once and logged once. */
function expectLogged({ isOutage }: Fault, { changes, callers }: HeadgateFigures): void {
  expect(changes.downLines).toBe(changes.downs);
  expect(changes.upLines).toBe(changes.ups);
  expect(changes.ups).toBe(changes.downs);
  if (isOutage) expect(changes.downs).toBeGreaterThanOrEqual(callers.length);
}
