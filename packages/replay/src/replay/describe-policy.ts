import type { Limit, LimitDescription, Policy } from "@headgate/core";
import { createLimiter } from "@headgate/core";
import { formatPolicy, isCalendarWindow } from "@headgate/core/admin";
import { pluralize } from "../format/number.ts";
import type { PolicyDescription } from "./result.ts";

/** Describes a policy for a report. */
export function describePolicy(policy: Policy): PolicyDescription {
  const limits = [policy].flat();
  const described = createLimiter({ limits }).limits;
  return {
    text: formatLimits(limits, described),
    code: formatPolicy(limits),
    grants: described.map(({ limit, windowMs }) => ({ units: limit, windowMs })),
  };
}

/** Formats limits for a sentence: `5 requests at once, then one every 12 seconds, per client address`. */
function formatLimits(limits: readonly Limit[], described: readonly LimitDescription[]): string {
  return limits
    .map((limit, i) => {
      const { per = "default" } = limit;
      const allowed = formatAllowance(limit, described[i] as LimitDescription);
      return `${allowed}, ${per === "global" ? "for all clients together" : "per client address"}${formatBlock(limit)}`;
    })
    .join("; and ");
}

function formatAllowance(limit: Limit, { limit: units, windowMs }: LimitDescription): string {
  if (units === 0) return "no requests";
  const requests = pluralize(units, "request");
  switch (limit.algorithm) {
    case "gcra":
    case "tokenBucket":
      return `${requests} at once, then ${formatPace(windowMs / units)}`;
    case "fixedWindow":
      return isCalendarWindow(limit.window)
        ? `${requests} in each ${limit.window}`
        : `${requests} in each ${formatPeriod(windowMs)}`;
    case "concurrency":
      return `${requests} at a time`;
    default:
      return `${requests} within any ${formatPeriod(windowMs)}`;
  }
}

/** Formats the rate at which requests come back, one per interval. */
function formatPace(intervalMs: number): string {
  if (intervalMs < 1_000) return `${formatApproximate(1_000 / intervalMs)} a second`;
  const span = formatPeriod(intervalMs);
  return span.startsWith(ABOUT)
    ? `${ABOUT}one every ${span.slice(ABOUT.length)}`
    : `one every ${span}`;
}

function formatBlock(limit: Limit): string {
  const isBlocking = limit.algorithm !== "concurrency" && limit.block !== undefined;
  return isBlocking ? ", with a block for clients that exceed it" : "";
}

const UNITS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
  ["millisecond", 1],
] as const;

/** Formats a period: `minute`, `12 seconds`, `about 10.7 seconds`. */
function formatPeriod(ms: number): string {
  const [unit, size] = UNITS.find(([, one]) => ms >= one) ?? (["millisecond", 1] as const);
  const count = ms / size;
  return count === 1 ? unit : `${formatApproximate(count)} ${unit}s`;
}

const ABOUT = "about ";

/** Rounds to one decimal, with `about` if that is not exact. */
function formatApproximate(count: number): string {
  const rounded = Math.round(count * 10) / 10;
  const isExact = Math.abs(rounded - count) < 1e-6;
  return `${isExact ? "" : ABOUT}${rounded.toLocaleString("en-US")}`;
}
