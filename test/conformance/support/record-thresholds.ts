import { channel } from "node:diagnostics_channel";
import type { ThresholdReached } from "@headgate/core";
import { CHANNELS } from "@headgate/core";
import { onTestFinished } from "vitest";

/** Records the published thresholds of each limiter while a test runs, in order. */
export class ThresholdRecorder {
  readonly #published = new Map<string, ThresholdReached[]>();

  constructor() {
    const record = (message: unknown): void => {
      const threshold = message as ThresholdReached;
      const before = this.#published.get(threshold.limiter) ?? [];
      this.#published.set(threshold.limiter, [...before, threshold]);
    };
    const thresholds = channel(CHANNELS.threshold);
    thresholds.subscribe(record);
    onTestFinished(() => {
      thresholds.unsubscribe(record);
    });
  }

  /** Returns the thresholds of a limiter since the last call. */
  take(limiter: string): readonly ThresholdReached[] {
    const published = this.#published.get(limiter) ?? [];
    this.#published.delete(limiter);
    return published;
  }

  /** The same as pairs of the threshold and the used units. */
  takePairs(limiter: string): readonly (readonly [threshold: number, used: number])[] {
    return this.take(limiter).map(({ threshold, used }) => [threshold, used]);
  }
}
