import type { Duration } from "@headgate/core";
import type {
  LimitDenials,
  LimiterUsage,
  TopSubject,
  UnreadableRecord,
  UsageCounts,
} from "@headgate/core/admin";
import { createAdmin, hashSubject, readRegistry, readUsage } from "@headgate/core/admin";
// biome-ignore lint/style/noRestrictedImports: decides as the dashboard does
import { groupBy, isInShadow } from "@headgate/core/internal";
import { formatCount } from "@headgate/replay/internal";
import { CommandError, EXIT } from "../command/command-error.ts";
import { readDuration } from "../command/option-values.ts";
import type { Connection } from "../connect/connection.ts";
import { formatSubjectLabel } from "../output/policy.ts";
import type { Column } from "../output/table.ts";
import { formatTable } from "../output/table.ts";

export type SubjectOrder = "used" | "denied";

/** The decisions of a limiter, as printed by `--json`. */
interface LimiterTotals {
  /** Whether it is in shadow mode now, in every process, so that it denies no request. */
  readonly shadow: boolean;
  /** In shadow mode, all requests are allowed ones. */
  readonly total: UsageCounts;
  /** In shadow mode, the allowed requests that its limits would deny; otherwise 0. */
  readonly wouldBeDenied: number;
}

/** The busiest or most denied subjects by usage, as printed by `--json`. */
export interface UsageTop extends LimiterTotals {
  readonly limiter: string;
  readonly source: "usage";
  readonly by: SubjectOrder;
  /** The time of reading, and the time since which subjects were counted: milliseconds since the epoch, by the server's clock. */
  readonly at: number;
  readonly from: number;
  /** The number of decisions on all subjects, and the most on a subject that is not listed. */
  readonly decisions: number;
  readonly unlisted: number;
  /** The requests or denials since `from`, also those not yet counted by subject: each subject has a share of these. */
  readonly counted: number;
  readonly subjects: readonly TopSubject[];
}

type Source = Pick<Connection, "store" | "timeoutMs">;

/** Reads the top subjects of a limiter, or the given one, from usage; undefined if no usage is recorded for it. Rejects with a `CommandError`, and like `readUsage`. */
export async function readUsageTop(
  source: Source,
  limiter: string,
  by: SubjectOrder,
  span: Duration,
  subject: string | undefined,
): Promise<UsageTop | undefined> {
  const options = { timeout: source.timeoutMs, limiter };
  const [{ at, limiters, unreadable }, { limiters: byMinute }] = await Promise.all([
    readUsage(source.store, { ...options, span }),
    readUsage(source.store, { ...options, span: minutesSpan(span), summaryOnly: true }),
  ]);
  requireReadable(unreadable);
  const [one] = limiters;
  if (one === undefined) return undefined;
  const isShadow = await readShadow(source);
  const { from, [by]: list } = one.subjects;
  const { top, total, maxUnlisted } = list;
  const counted = (byMinute[0]?.minutes ?? [])
    .filter((minute) => minute.from >= from)
    .reduce((sum, { allowed, denied }) => sum + denied + (by === "used" ? allowed : 0), 0);
  const isWanted = (found: TopSubject): boolean =>
    subject === undefined || found.subject === subject || found.hash === hashSubject(subject);
  return {
    limiter,
    source: "usage",
    by,
    at,
    from,
    ...totalsOf(one, isShadow),
    decisions: total,
    unlisted: maxUnlisted,
    counted,
    subjects: top.filter(isWanted),
  };
}

/** The span whose minutes cover a list of subjects: that begins up to eleven minutes before the given span, and covers a day at most. */
function minutesSpan(span: Duration): Duration {
  return Math.min(readDuration("--span", `${span}`, "10s", "30d") + 660_000, 86_400_000);
}

/** Reads which limiters are in shadow mode now, in every process. Rejects like the store. */
async function readShadow({ store, timeoutMs }: Source): Promise<(limiter: string) => boolean> {
  const [{ limiters }, { overrides }] = await Promise.all([
    readRegistry(store, { timeout: timeoutMs }),
    createAdmin(store, { storeTimeout: timeoutMs }).readControl(),
  ]);
  const policies = groupBy(limiters, ({ name }) => name);
  return (limiter) => isInShadow(limiter, policies.get(limiter) ?? [], overrides);
}

/** Usage counts a request as denied if the limits denied it, also in shadow mode. */
function totalsOf(
  { name, total }: LimiterUsage,
  isShadow: (limiter: string) => boolean,
): LimiterTotals {
  if (!isShadow(name)) return { shadow: false, total, wouldBeDenied: 0 };
  const { allowed, denied, degraded } = total;
  return {
    shadow: true,
    total: { allowed: allowed + denied, denied: 0, degraded },
    wouldBeDenied: denied,
  };
}

/** Throws a `CommandError` if a record could not be read. */
function requireReadable([first]: readonly UnreadableRecord[]): void {
  if (first === undefined) return;
  throw new CommandError(
    `${first.key} cannot be read (${first.reason}): read it with the version of Headgate that wrote it, or delete the key`,
    EXIT.store,
  );
}

/** The most subjects listed for each limiter. */
const MAX_SUBJECTS = 3;

/** The limiters with the most denials by usage, as printed by `--json`. */
export interface FleetTop {
  readonly source: "usage";
  readonly by: SubjectOrder;
  readonly at: number;
  /** The time since which subjects were counted; missing without limiters. */
  readonly from?: number | undefined;
  readonly limiters: readonly FleetLimiter[];
  /** The sum of all limiters beyond the first 500; missing if there are none. */
  readonly others?: UsageCounts | undefined;
}

/** One limiter in the list of all limiters. */
export interface FleetLimiter extends LimiterTotals {
  readonly limiter: string;
  /** The denials of each limit, and those by blocks; in shadow mode, what they would deny. */
  readonly byLimit: readonly LimitDenials[];
  readonly byBlock: number;
  /** As in `UsageTop`. */
  readonly decisions: number;
  readonly unlisted: number;
  readonly subjects: readonly TopSubject[];
}

/** Reads the limiters with the most denials and their subjects from usage. Rejects with a `CommandError`, and like `readUsage`. */
export async function readFleetTop(
  source: Source,
  by: SubjectOrder,
  span: Duration,
): Promise<FleetTop> {
  const { store, timeoutMs } = source;
  const { at, limiters, others, unreadable } = await readUsage(store, { timeout: timeoutMs, span });
  requireReadable(unreadable);
  const [first] = limiters;
  const isShadow = await readShadow(source);
  return {
    source: "usage",
    by,
    at,
    ...(first === undefined ? {} : { from: first.subjects.from }),
    limiters: limiters.map((one) => summarizeLimiter(one, by, isShadow)).sort(byDenials),
    ...(others === undefined ? {} : { others: others.total }),
  };
}

function summarizeLimiter(
  usage: LimiterUsage,
  by: SubjectOrder,
  isShadow: (limiter: string) => boolean,
): FleetLimiter {
  const { top, total: decisions, maxUnlisted } = usage.subjects[by];
  const { byLimit, byBlock } = usage.limits;
  return {
    limiter: usage.name,
    ...totalsOf(usage, isShadow),
    byLimit,
    byBlock,
    decisions,
    unlisted: maxUnlisted,
    subjects: top.slice(0, MAX_SUBJECTS),
  };
}

/** Sorts by denials, then by allowed requests, in descending order; limiters in shadow mode come last. */
function byDenials(one: FleetLimiter, other: FleetLimiter): number {
  return (
    Number(one.shadow) - Number(other.shadow) ||
    other.total.denied - one.total.denied ||
    other.wouldBeDenied - one.wouldBeDenied ||
    other.total.allowed - one.total.allowed
  );
}

/** Formats the result for a terminal width. */
export function formatFleet({ by, limiters, others }: FleetTop, width: number): string {
  if (limiters.length === 0) return "No limiter has made a decision.\n";
  const hasShadow = limiters.some(({ shadow }) => shadow);
  const inShadow = <Cell>(cell: Cell): readonly Cell[] => (hasShadow ? [cell] : []);
  const columns: readonly Column[] = [
    { head: "LIMITER" },
    { head: "ALLOWED", align: "right" },
    { head: "DENIED", align: "right" },
    ...inShadow<Column>({ head: "WOULD BE DENIED", align: "right" }),
    { head: by === "denied" ? "MOST DENIED" : "BUSIEST", wraps: true },
  ];
  const rows = limiters.map(({ limiter, shadow, total, wouldBeDenied, subjects }) => [
    limiter,
    formatCount(total.allowed),
    formatCount(total.denied),
    ...inShadow(shadow ? formatCount(wouldBeDenied) : ""),
    // No client is denied in shadow mode.
    shadow && by === "denied" ? "" : subjects.map(formatSubjectCount).join(", "),
  ]);
  if (others !== undefined) {
    rows.push([
      "(all others)",
      formatCount(others.allowed),
      formatCount(others.denied),
      ...inShadow(""),
      "",
    ]);
  }
  return formatTable(columns, rows, width);
}

function formatSubjectCount({
  dimension,
  subject,
  hash,
  count,
}: FleetLimiter["subjects"][number]): string {
  return `${formatSubjectLabel({ [dimension]: subject ?? `#${hash}` })} (${formatCount(count)})`;
}
