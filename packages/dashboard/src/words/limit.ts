import type { Limit } from "@headgate/core";
import { formatDuration, formatPer } from "./time.ts";

type Block = NonNullable<Exclude<Limit, { algorithm: "concurrency" }>["block"]>;

/** A limit in words: `login: 5 per 15 minutes for each account, blocks for 1 hour (slidingLog)`. */
export function formatLimit(limit: Limit): string {
  const name = limit.name === undefined ? "" : `${limit.name}: `;
  const parts = [`${numbersOf(limit)}${whose(limit)}`, ...detailsOf(limit)];
  return `${name}${parts.join(", ")} (${limit.algorithm})`;
}

/** The numbers of a limit that an override may replace. */
export function numbersOfLimit(limit: Limit): Readonly<Record<string, number>> {
  if (limit.algorithm === "tokenBucket") return { capacity: limit.capacity, refill: limit.refill };
  if (limit.algorithm !== "gcra") return { limit: limit.limit };
  return limit.burst === undefined
    ? { limit: limit.limit }
    : { limit: limit.limit, burst: limit.burst };
}

function numbersOf(limit: Limit): string {
  switch (limit.algorithm) {
    case "tokenBucket":
      return `${limit.capacity} at once, ${limit.refill} more every ${formatPer(limit.every)}`;
    case "concurrency":
      return `${limit.limit} at a time`;
    case "fixedWindow":
      return `${limit.limit} per ${formatWindow(limit.window)}`;
    default:
      return `${limit.limit} per ${formatPer(limit.window)}`;
  }
}

function formatWindow(window: Extract<Limit, { algorithm: "fixedWindow" }>["window"]): string {
  if (window === "day" || window === "week" || window === "month" || window === "year") {
    return `calendar ${window}`;
  }
  return formatPer(window);
}

function whose({ per = "default" }: Limit): string {
  if (per === "default") return " for each client";
  return per === "global" ? " for all together" : ` for each ${per}`;
}

function detailsOf(limit: Limit): readonly string[] {
  const details: string[] = [];
  if (limit.algorithm === "gcra" && limit.burst !== undefined) details.push(`burst ${limit.burst}`);
  if (limit.algorithm === "fixedWindow") {
    if (limit.align === "clock") details.push("by the clock");
    if (limit.timeZone !== undefined) details.push(limit.timeZone);
  }
  if (limit.algorithm !== "concurrency" && limit.block !== undefined) {
    details.push(blockOf(limit.block));
  }
  if (limit.algorithm !== "concurrency" && limit.notifyAt !== undefined) {
    details.push(`notifies at ${limit.notifyAt.map(percentOf).join(", ")}`);
  }
  return details;
}

/** At most two decimals. */
function percentOf(share: number): string {
  return `${Number((share * 100).toFixed(2))} %`;
}

function blockOf(block: Block): string {
  if (typeof block === "object" && "after" in block) {
    return `${blockOf(block.for)} after ${block.after} denials`;
  }
  const times = [block].flat().map((time) => formatDuration(time));
  return `blocks for ${times.join(", then ")}`;
}
