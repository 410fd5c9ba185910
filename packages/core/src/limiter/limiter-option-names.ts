import { FAILURE_OPTIONS } from "./failure-options.ts";
import type { LimiterOptions } from "./limiter.ts";

/** The names of the options of `createLimiter`. */
export const LIMITER_OPTIONS: readonly (keyof LimiterOptions)[] = [
  "name",
  "limits",
  "store",
  "extends",
  "maxQueue",
  "shadow",
  "blockOn",
  ...FAILURE_OPTIONS,
];
