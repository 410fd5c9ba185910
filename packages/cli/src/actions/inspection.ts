import type { Limit, LimitState } from "@headgate/core";
import type { DeniedNetwork, Inspection, Override, SubjectBlock } from "@headgate/core/admin";
import { formatOverride, isCalendarWindow } from "@headgate/core/admin";
import { formatSpan } from "@headgate/replay/internal";
import { formatSubjectLabel } from "../output/policy.ts";
import { formatTime, toMs } from "../output/time.ts";

/** The error of the clock reading. */
const CLOCK_ERROR_MS = 100;

/** Formats the time in `ms` milliseconds: `2026-11-22 23:05:10 UTC, in 12 s`. `now` is the server's clock. */
export function formatEnd(ms: number, now: number): string {
  // The clock was read a moment ago, so an end at a whole second must not be rounded up to the next one.
  const end = Math.ceil((now + ms - CLOCK_ERROR_MS) / 1_000) * 1_000;
  return `${formatTime(end)}, in ${formatSpan(ms)}`;
}

/** Formats the usage of a limit. */
export function formatUsage(state: LimitState, now: number): string {
  const { limit, remaining, overdrawn, windowMs, resetAfterMs } = state;
  const used = limit - remaining + overdrawn;
  if (windowMs === 0) return `${used} of ${limit} slots in use`;
  if (used === 0) return `0 of ${limit} used`;
  const end = formatEnd(resetAfterMs, now);
  return `${used} of ${limit} used; fully recovers at ${end}`;
}

/** Formats the end of a calendar window in the time zone of the limit; undefined for other limits. */
export function formatCalendar(
  limit: Limit,
  { resetAfterMs }: LimitState,
  now: number,
): string | undefined {
  if (limit.algorithm !== "fixedWindow" || resetAfterMs === 0) return undefined;
  const { window, timeZone = "UTC" } = limit;
  if (!isCalendarWindow(window)) return undefined;
  // Calendar windows end at whole seconds, and the clock was read a moment ago.
  const end = Math.round((now + resetAfterMs) / 1_000) * 1_000;
  return `the ${window} ends at ${formatTime(end, timeZone)} in ${timeZone}, which is ${formatTime(end)}`;
}

/** Formats a block. Without a limit, an operator or the application set it, which its counter does not say. */
export function formatBlock(
  { per, limit, endsInMs }: SubjectBlock,
  dimensions: number,
  now: number,
): string {
  const by = limit === undefined ? "" : ` by the limit ${limit}`;
  const where = dimensions > 1 ? ` in ${per}` : "";
  return `blocked${by}${where} until ${formatEnd(endsInMs, now)}`;
}

/** Formats an entry of the deny list: `203.0.113.0/24 until 2026-11-22 23:05:10 UTC, in 1 h, by ann: flood`. */
export function formatDenyListEntry(
  { network, until, by, reason }: DeniedNetwork,
  now: number,
): string {
  const end =
    until === null ? "until it is removed" : `until ${formatEnd(until / 1_000 - now, now)}`;
  const who = by === undefined ? "" : `, by ${by}`;
  return `${network} ${end}${who}${reason === undefined ? "" : `: ${reason}`}`;
}

/** Formats an override with its subject and its end. */
export function formatOverrideLine(override: Override): string {
  const { subject, until } = override;
  const end = until === null ? "until it is removed" : `until ${formatTime(toMs(until))}`;
  return `${formatOverride(override)}; for ${formatSubjectLabel(subject)}, ${end}`;
}

/** Formats the usage of each limit and the blocks of a subject, one line each. */
export function formatInspection(
  { limits, blocks }: Pick<Inspection, "limits" | "blocks">,
  now: number,
): readonly string[] {
  const dimensions = new Set(limits.map(({ per }) => per)).size;
  return [
    ...limits.map((state) => `${state.name}: ${formatUsage(state, now)}`),
    ...blocks.map((block) => formatBlock(block, dimensions, now)),
  ];
}
