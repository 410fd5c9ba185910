import { isIP } from "node:net";
import type { Limit, LimitState } from "@headgate/core";
import type {
  ControlRecord,
  DeniedNetwork,
  Inspection,
  LimiterVersion,
  Override,
  SubjectBlock,
  SubjectQuery,
} from "@headgate/core/admin";
import {
  formatOverride,
  ignoredReasonOf,
  isCalendarWindow,
  overridesFor,
} from "@headgate/core/admin";
import type { CommandContext } from "../command/cli.ts";
import type { Session } from "../connect/connection.ts";
import { withTimesInMs } from "../output/override.ts";
import { printSection } from "../output/section.ts";
import { formatSubjectLabel } from "../output/subject.ts";
import { formatSpan, formatTime, toMs } from "../output/time.ts";
import type { Subject } from "./selection.ts";

/** The error of the clock reading. */
const CLOCK_ERROR_MS = 100;

/** Formats the time in `ms` milliseconds: `2026-11-22 23:05:10 CET, in 12 s`. `now` is the server's clock. */
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
  return `the ${window} ends at ${formatTime(end, timeZone)} in ${timeZone}, here ${formatTime(end)}`;
}

export function formatBlock(
  { per, limit, endsInMs }: SubjectBlock,
  dimensions: number,
  now: number,
): string {
  const by = limit === undefined ? "manually" : `by its limit ${limit}`;
  const where = dimensions > 1 ? ` in ${per}` : "";
  return `blocked ${by}${where} until ${formatEnd(endsInMs, now)}`;
}

/** Formats an entry of the deny list: `203.0.113.0/24 until 2026-11-22 23:05:10 CET, in 1 h, by ann: flood`. */
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

/** An address, and the deny-list entries that contain it. */
interface DeniedAddress {
  readonly address: string;
  readonly entries: readonly DeniedNetwork[];
}

/** The address in the query, if the deny list has it. Rejects like `admin.denyList`. */
export async function findDeniedAddress(
  { admin }: Session,
  { ip, text, named }: SubjectQuery,
): Promise<DeniedAddress | undefined> {
  // The subject of an IPv6 client is a network: check its first address.
  const candidates = [ip, text, ...(named?.values() ?? [])].map((one) =>
    one?.split("/")[0]?.replace(/%.*$/s, ""),
  );
  const address = candidates.find((one) => one !== undefined && isIP(one) !== 0);
  if (address === undefined) return undefined;
  const entries = await admin.denyList(address);
  return entries.length === 0 ? undefined : { address, entries };
}

export function printDeniedAddress(
  { address, entries }: DeniedAddress,
  { now }: Session,
  context: CommandContext,
): void {
  printSection(context, `${address} is on the deny list: 403 in every HTTP limiter`, [
    ...entries.map((entry) => formatDenyListEntry(entry, now())),
    "limiters with the address in their own allowList still admit it",
  ]);
}

/** An override for a subject, and whether the limiter's processes apply it. */
export interface SubjectOverride {
  readonly override: Override;
  /** Why the processes ignore it; undefined if they apply it. */
  readonly ignoredBecause: string | undefined;
}

/** The overrides of a limiter for a subject, the one with the highest priority last. `now` is in milliseconds. */
export function overridesOf(
  control: ControlRecord,
  { name, limits, perCallPolicies }: LimiterVersion["limiter"],
  subject: Subject,
  now: number,
): readonly SubjectOverride[] {
  return overridesFor(control, name, subject, now).map((override) => ({
    override,
    ignoredBecause: ignoredReasonOf([limits, ...perCallPolicies], override),
  }));
}

/** Converts a result for `--json`, with times in milliseconds. */
export function toJson(one: { readonly overrides: readonly SubjectOverride[] }): object {
  const overrides = one.overrides.map(({ override, ignoredBecause }) => ({
    ...withTimesInMs(override),
    ignoredBecause,
  }));
  return { ...one, overrides };
}

export function formatSubjectOverride({ override, ignoredBecause }: SubjectOverride): string {
  const described = formatOverrideLine(override);
  return ignoredBecause === undefined
    ? `override: ${described}`
    : `override, ignored because ${ignoredBecause}: ${described}`;
}
