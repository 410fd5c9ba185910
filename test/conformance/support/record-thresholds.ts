import { channel } from "node:diagnostics_channel";
import type { ThresholdReached } from "@headgate/core";
import { CHANNELS } from "@headgate/core";
import { onTestFinished } from "vitest";

/** What is published while a test runs, in order, by the limiter's name. */
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

  /** What was published of a limiter since it was asked last. */
  take(limiter: string): readonly ThresholdReached[] {
    const published = this.#published.get(limiter) ?? [];
    this.#published.delete(limiter);
    return published;
  }

  /** The same in short: threshold, and units used. */
  takePairs(limiter: string): readonly (readonly [threshold: number, used: number])[] {
    return this.take(limiter).map(({ threshold, used }) => [threshold, used]);
  }
}
