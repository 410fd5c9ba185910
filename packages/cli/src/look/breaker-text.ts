import type { Duration } from "@headgate/core";
import { formatDuration } from "../output/time.ts";

/** What a breaker does where an option is left out: docs of @headgate/breaker, "Options". */
const DEFAULTS = {
  window: "5m",
  minimumSuccessRate: 0.5,
  openFor: "30s",
  probes: 5,
  slowCallRate: 1,
} as const;

/** The policy of a breaker in words, by the options that were written: `opens below 50% of at least 20 calls in 5m, for 30s; 5 trial calls`. */
export function formatBreaker(options: Readonly<Record<string, unknown>>): string {
  const { window, minimumSuccessRate, minimumCalls, slowCall, slowCallRate, openFor, probes } = {
    ...DEFAULTS,
    ...options,
  } as Readonly<Record<string, unknown>>;
  const calls = callsOf(window);
  const least = Math.min(20, calls ?? 20);
  const among = `of at least ${minimumCalls ?? least} calls ${calls === undefined ? `in ${formatTimes(window)}` : `among the last ${calls}`}`;
  const slow =
    slowCall === undefined
      ? ""
      : `, or at ${formatShare(slowCallRate)} slower than ${formatTimes(slowCall)}`;
  return `opens below ${formatShare(minimumSuccessRate)} success ${among}${slow}, for ${formatTimes(openFor)}; ${probes} trial calls`;
}

function callsOf(window: unknown): number | undefined {
  return typeof window === "object" && window !== null
    ? (window as { readonly calls?: number }).calls
    : undefined;
}

function formatShare(share: unknown): string {
  return `${Math.round(Number(share) * 10_000) / 100}%`;
}

/** A duration, or several in a row. */
function formatTimes(times: unknown): string {
  return [times]
    .flat()
    .map((time) => formatDuration(time as Duration))
    .join(", ");
}
