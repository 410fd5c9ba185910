import { afterAll, beforeAll } from "vitest";
import { defaultStoreTimeout } from "../../packages/core/src/limiter/failure-options.ts";

/** For programs that leave `storeTimeout` to its default: a busy machine must not make their decisions late. */
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
