import type { Duration } from "@headgate/core";
import { formatDuration } from "./time.ts";

/** The defaults of a breaker's options. */
const DEFAULTS = {
  window: "5m",
  minimumSuccessRate: 0.5,
  openFor: "30s",
  probes: 5,
  slowCallRate: 1,
} as const;

/** The policy of a breaker in words: `opens below 50% success of at least 20 calls in 5 minutes, for 30 seconds; 5 trial calls`. */
export function formatBreaker(options: Readonly<Record<string, unknown>>): string {
  const { window, minimumSuccessRate, minimumCalls, slowCall, slowCallRate, openFor, probes } = {
    ...DEFAULTS,
    ...options,
  } as Readonly<Record<string, unknown>>;
  const calls = callsOf(window);
  const least = minimumCalls ?? Math.min(20, calls ?? 20);
  const among = calls === undefined ? `in ${formatTimes(window)}` : `among the last ${calls}`;
  const slow =
    slowCall === undefined
      ? ""
      : `, or if ${formatShare(slowCallRate)} are slower than ${formatTimes(slowCall)}`;
  return `opens below ${formatShare(minimumSuccessRate)} success of at least ${least} calls ${among}${slow}, for ${formatTimes(openFor)}; ${probes} trial calls`;
}

function callsOf(window: unknown): number | undefined {
  if (typeof window !== "object" || window === null) return undefined;
  return (window as { readonly calls?: number }).calls;
}

function formatShare(share: unknown): string {
  return `${Math.round(Number(share) * 10_000) / 100}%`;
}

/** A duration, or several in a row: of many, the first ones and the last. */
function formatTimes(times: unknown): string {
  const all = [times].flat().map((time) => formatDuration(time as Duration));
  const shown = all.length > 5 ? [...all.slice(0, 3), `… ${all.at(-1)}`] : all;
  return shown.join(", then ");
}
