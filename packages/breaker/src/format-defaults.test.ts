import { formatBreakerOptions } from "@headgate/core/admin";
import { parseDuration } from "@headgate/core/internal";
import { expect, test } from "vitest";
import type { BreakerOptions } from "./breaker-options.ts";
import { readBreakerOptions } from "./read-options.ts";

/** Formats durations as microseconds, so that equal durations have equal texts. */
const format = (duration: unknown): string =>
  String(parseDuration(duration, "duration", "HEADGATE_INVALID_OPTION"));
const wording = { formatDuration: format, formatWindow: format, defaultSuffix: "" };

// The registry has only the options that were set.
test.each<BreakerOptions>([{}, { window: { calls: 10 } }, { window: "1m", slowCall: "2s" }])(
  "operators see the defaults of options that are not set in %j",
  (options) => {
    const { policy } = readBreakerOptions(options);
    const [openFor = 0] = policy.openForMicros;
    const all = {
      window:
        policy.window.kind === "calls" ? { calls: policy.windowSize } : policy.windowSize / 1_000,
      minimumCalls: policy.minimumCalls,
      minimumSuccessRate: policy.minimumSuccessRate,
      slowCall: options.slowCall,
      slowCallRate: policy.slowCallRate,
      openFor: openFor / 1_000,
      trialCalls: policy.trialCalls,
    };
    const text = formatBreakerOptions({ ...options }, wording);
    expect(text).toBe(formatBreakerOptions(all, wording));
    expect(text).toContain("success of at least");
  },
);
