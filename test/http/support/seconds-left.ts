import { expect } from "vitest";

/** The most seconds that a slow machine may take from the start of the wait. */
const SLACK = 30;

/** Matches whole seconds, as a header's text or as a number: exactly so many, or a little less on a slow machine. */
export function secondsLeft(seconds: number): unknown {
  return expect.toSatisfy(
    (value) =>
      /^\d+$/.test(`${value}`) && Number(value) <= seconds && Number(value) > seconds - SLACK,
    `${seconds} seconds, or hardly less`,
  );
}
