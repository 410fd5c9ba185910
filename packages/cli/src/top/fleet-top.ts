import type { Duration } from "@headgate/core";
import type { LimiterUsage } from "@headgate/core/operate";
import { readUsage } from "@headgate/core/operate";
import type { Connection } from "../connect/connection.ts";
import { formatCount } from "../output/number.ts";
import { formatSubject } from "../output/subject.ts";
import { formatTable } from "../output/table.ts";
import { requireRead } from "./from-usage.ts";
import type { By, FleetLimiter, FleetTop } from "./top.ts";

/** So many subjects of each limiter are told. */
const SUBJECTS = 3;

/** Reads which limiters deny most, and whom, from usage. Rejects with a `CommandError`, and as `readUsage`. */
export async function topOfFleet(
  { store, timeoutMs }: Pick<Connection, "store" | "timeoutMs">,
  by: By,
  span: Duration,
): Promise<FleetTop> {
  const { at, limiters, others, unread } = await readUsage(store, { timeout: timeoutMs, span });
  requireRead(unread);
  const [first] = limiters;
  return {
    source: "usage",
    by,
    at,
    ...(first === undefined ? {} : { from: first.subjects.from }),
    limiters: limiters.map((one) => limiterOf(one, by)).sort(byDenials),
    ...(others === undefined ? {} : { others: others.total }),
  };
}

function limiterOf({ name, total, subjects, limits }: LimiterUsage, by: By): FleetLimiter {
  const { top, total: decisions, unlisted } = subjects[by];
  const { byLimit, byBlock } = limits;
  return {
    limiter: name,
    total,
    byLimit,
    byBlock,
    decisions,
    unlisted,
    subjects: top.slice(0, SUBJECTS),
  };
}

/** Most denials first; of those that deny as often, the one that is asked most. */
function byDenials({ total: one }: FleetLimiter, { total: other }: FleetLimiter): number {
  return other.denied - one.denied || other.allowed - one.allowed;
}

/** Writes it for people to read, on a terminal of a width. */
export function formatFleet({ by, limiters, others }: FleetTop, width: number): string {
  if (limiters.length === 0) return "No limiter has decided anything.\n";
  const columns = [
    { head: "LIMITER" },
    { head: "ALLOWED", align: "right" },
    { head: "DENIED", align: "right" },
    { head: by === "denied" ? "DENIED MOST" : "ASKED MOST", wraps: true },
  ] as const;
  const rows = limiters.map(({ limiter, total, subjects }) => [
    limiter,
    formatCount(total.allowed),
    formatCount(total.denied),
    subjects.map(formatCounted).join(", "),
  ]);
  if (others !== undefined) {
    rows.push(["(all others)", formatCount(others.allowed), formatCount(others.denied), ""]);
  }
  return formatTable(columns, rows, width);
}

function formatCounted({
  dimension,
  subject,
  hash,
  count,
}: FleetLimiter["subjects"][number]): string {
  return `${formatSubject({ [dimension]: subject ?? `#${hash}` })} (${formatCount(count)})`;
}
