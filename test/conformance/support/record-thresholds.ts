import { channel } from "node:diagnostics_channel";
import type { ThresholdReached } from "@headgate/core";
import { CHANNELS } from "@headgate/core";
import { onTestFinished } from "vitest";

/** What is published while a test runs, in order, by the limiter's name. */
export class HeardThresholds {
  readonly #heard = new Map<string, ThresholdReached[]>();

  constructor() {
    const hear = (message: unknown): void => {
      const told = message as ThresholdReached;
      const before = this.#heard.get(told.limiter) ?? [];
      this.#heard.set(told.limiter, [...before, told]);
    };
    const thresholds = channel(CHANNELS.threshold);
    thresholds.subscribe(hear);
    onTestFinished(() => {
      thresholds.unsubscribe(hear);
    });
  }

  /** What was published of a limiter since it was asked last. */
  take(limiter: string): readonly ThresholdReached[] {
    const heard = this.#heard.get(limiter) ?? [];
    this.#heard.delete(limiter);
    return heard;
  }

  /** The same in short: threshold, and units used. */
  takeShort(limiter: string): readonly (readonly [threshold: number, used: number])[] {
    return this.take(limiter).map(({ threshold, used }) => [threshold, used]);
  }
}
