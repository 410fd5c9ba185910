import type { Duration } from "@headgate/core";
import type {
  LimitDenials,
  LimiterUsage,
  TopSubject,
  UnreadableRecord,
  UsageCounts,
} from "@headgate/core/admin";
import { hashSubject, readUsage } from "@headgate/core/admin";
import { formatCount } from "@headgate/replay/internal";
import { CommandError, EXIT } from "../command/command-error.ts";
import type { Connection } from "../connect/connection.ts";
import { formatSubjectLabel } from "../output/policy.ts";
import { formatTable } from "../output/table.ts";

export type SubjectOrder = "used" | "denied";

/** The busiest or most denied subjects by usage, as printed by `--json`. */
export interface UsageTop {
  readonly limiter: string;
  readonly source: "usage";
  readonly by: SubjectOrder;
  /** The time of reading, and the time since which subjects were counted: milliseconds since the epoch, by the server's clock. */
  readonly at: number;
  readonly from: number;
  readonly total: UsageCounts;
  /** The number of decisions on all subjects, and the most on a subject that is not listed. */
  readonly decisions: number;
  readonly unlisted: number;
  readonly subjects: readonly TopSubject[];
}

/** Reads the top subjects of a limiter, or the given one, from usage; undefined if no usage is recorded for it. Rejects with a `CommandError`, and like `readUsage`. */
export async function readUsageTop(
  { store, timeoutMs }: Pick<Connection, "store" | "timeoutMs">,
  limiter: string,
  by: SubjectOrder,
  span: Duration,
  subject: string | undefined,
): Promise<UsageTop | undefined> {
  const { at, limiters, unreadable } = await readUsage(store, {
    timeout: timeoutMs,
    limiter,
    span,
  });
  requireReadable(unreadable);
  const [one] = limiters;
  if (one === undefined) return undefined;
  const { from, [by]: list } = one.subjects;
  const { top, total, maxUnlisted } = list;
  const isWanted = (found: TopSubject): boolean =>
    subject === undefined || found.subject === subject || found.hash === hashSubject(subject);
  return {
    limiter,
    source: "usage",
    by,
    at,
    from,
    total: one.total,
    decisions: total,
    unlisted: maxUnlisted,
    subjects: top.filter(isWanted),
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
export interface FleetLimiter {
  readonly limiter: string;
  readonly total: UsageCounts;
  /** The denials of each limit, and those by blocks. */
  readonly byLimit: readonly LimitDenials[];
  readonly byBlock: number;
  /** As in `UsageTop`. */
  readonly decisions: number;
  readonly unlisted: number;
  readonly subjects: readonly TopSubject[];
}

/** Reads the limiters with the most denials and their subjects from usage. Rejects with a `CommandError`, and like `readUsage`. */
export async function readFleetTop(
  { store, timeoutMs }: Pick<Connection, "store" | "timeoutMs">,
  by: SubjectOrder,
  span: Duration,
): Promise<FleetTop> {
  const { at, limiters, others, unreadable } = await readUsage(store, { timeout: timeoutMs, span });
  requireReadable(unreadable);
  const [first] = limiters;
  return {
    source: "usage",
    by,
    at,
    ...(first === undefined ? {} : { from: first.subjects.from }),
    limiters: limiters.map((one) => summarizeLimiter(one, by)).sort(byDenials),
    ...(others === undefined ? {} : { others: others.total }),
  };
}

function summarizeLimiter(
  { name, total, subjects, limits }: LimiterUsage,
  by: SubjectOrder,
): FleetLimiter {
  const { top, total: decisions, maxUnlisted } = subjects[by];
  const { byLimit, byBlock } = limits;
  return {
    limiter: name,
    total,
    byLimit,
    byBlock,
    decisions,
    unlisted: maxUnlisted,
    subjects: top.slice(0, MAX_SUBJECTS),
  };
}

/** Sorts by denials, then by allowed requests, in descending order. */
function byDenials({ total: one }: FleetLimiter, { total: other }: FleetLimiter): number {
  return other.denied - one.denied || other.allowed - one.allowed;
}

/** Formats the result for a terminal width. */
export function formatFleet({ by, limiters, others }: FleetTop, width: number): string {
  if (limiters.length === 0) return "No limiter has made a decision.\n";
  const columns = [
    { head: "LIMITER" },
    { head: "ALLOWED", align: "right" },
    { head: "DENIED", align: "right" },
    { head: by === "denied" ? "MOST DENIED" : "BUSIEST", wraps: true },
  ] as const;
  const rows = limiters.map(({ limiter, total, subjects }) => [
    limiter,
    formatCount(total.allowed),
    formatCount(total.denied),
    subjects.map(formatSubjectCount).join(", "),
  ]);
  if (others !== undefined) {
    rows.push(["(all others)", formatCount(others.allowed), formatCount(others.denied), ""]);
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
