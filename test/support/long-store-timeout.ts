import { afterAll, beforeAll } from "vitest";
import { defaultStoreTimeout } from "../../packages/core/src/limiter/failure-options.ts";

/** Prolongs the default `storeTimeout`, so that a busy machine does not make decisions late. */
export function useLongStoreTimeout(): void {
  const times = defaultStoreTimeout();
  const { byDefault } = times;
  beforeAll(() => {
    times.byDefault = 60_000;
  });
  afterAll(() => {
    times.byDefault = byDefault;
  });
}
