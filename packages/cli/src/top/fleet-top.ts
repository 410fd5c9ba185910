import type { Duration } from "@headgate/core";
import type { LimiterUsage } from "@headgate/core/admin";
import { readUsage } from "@headgate/core/admin";
import type { Connection } from "../connect/connection.ts";
import { formatCount } from "../output/number.ts";
import { formatSubjectLabel } from "../output/subject.ts";
import { formatTable } from "../output/table.ts";
import type { FleetLimiter, FleetTop, SubjectOrder } from "./top.ts";
import { requireReadable } from "./usage-top.ts";

/** The most subjects listed for each limiter. */
const MAX_SUBJECTS = 3;

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
