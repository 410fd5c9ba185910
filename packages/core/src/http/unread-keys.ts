import { formatReceived, HeadgateError } from "../errors.ts";
import type { Limiter } from "../limiter/limiter.ts";
import { partsOf } from "../limiter/limiter.ts";
import { DEFAULT_DIMENSION, GLOBAL_DIMENSION } from "../policy.ts";
import type { GuardOptions } from "./guard-options.ts";

/**
 * Throws `HEADGATE_INVALID_OPTION` for a key that none of the limiters counts by: it would never be called, while its author
 * believes that it is.
 */
export function rejectUnreadKeys(
  owner: string,
  key: GuardOptions<never>["key"],
  limiters: readonly Limiter[],
): void {
  if (key === undefined) return;
  const groups = limiters.flatMap((limiter) => partsOf(limiter).counted.groups);
  const counted = new Set(groups.map(({ dimension }) => dimension));
  counted.delete(GLOBAL_DIMENSION);
  const unread = typeof key === "function" ? [DEFAULT_DIMENSION] : Object.keys(key);
  const dimension = unread.find((name) => !counted.has(name));
  if (dimension === undefined) return;
  const what = typeof key === "function" ? "key" : `the key of ${formatReceived(dimension)}`;
  const why = whyUnread(limiters, counted);
  const how =
    typeof key === "function"
      ? "; name whom each key is for, as in key: { user: (request) => ... }"
      : "";
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `${owner}: ${what} is never read, because ${why}${counted.size === 0 ? "" : how}`,
  );
}

function whyUnread(limiters: readonly Limiter[], counted: ReadonlySet<string>): string {
  if (limiters.length === 0) return "everything that has limits has a key of its own";
  if (counted.size === 0) return "the limits count everybody together";
  return `the limits count per ${[...counted].map(formatReceived).join(", ")}`;
}
