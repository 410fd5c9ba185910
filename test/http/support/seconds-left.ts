import { expect } from "vitest";

/** How long a slow machine may have taken since the wait began. */
const SLACK = 30;

/** Matches whole seconds, as a header's text or as a number: so many, or what is left of them on a slow machine. */
export function secondsLeft(seconds: number): unknown {
  return expect.toSatisfy(
    (value) =>
      /^\d+$/.test(`${value}`) && Number(value) <= seconds && Number(value) > seconds - SLACK,
    `${seconds} seconds, or hardly less`,
  );
}
