import type { Override, OverrideReach } from "@headgate/core/operate";
import { isPlainObject } from "../access/plain-object.ts";
import { endMs, formatEnd } from "./time.ts";

/** The effect of an override: `100-per-1m: limit 500, burst 50; in shadow mode`. The log may contain any text. */
export function formatOverride(override: unknown): string {
  const { limits, shadow } = (isPlainObject(override) ? override : {}) as Partial<Override>;
  const numbers = Object.entries(isPlainObject(limits) ? limits : {}).map(([name, given]) => {
    const written = Object.entries(isPlainObject(given) ? given : {});
    return `${name}: ${written.map(([what, number]) => `${what} ${shown(number)}`).join(", ")}`;
  });
  if (typeof shadow !== "boolean") return numbers.join("; ");
  return [...numbers, shadow ? "in shadow mode" : "not in shadow mode"].join("; ");
}

/** A text or a number of the log; nothing of another type, which may not even be writable. */
export function shown(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "?";
}

/** The same with its end. */
export function describeOverride(override: unknown): string {
  const { until } = (isPlainObject(override) ? override : {}) as Partial<Override>;
  const isKnown = until === null || (typeof until === "number" && until >= 0);
  return isKnown
    ? `${formatOverride(override)}, ${formatEnd(endMs(until))}`
    : formatOverride(override);
}

/** Why processes ignore an override, one sentence each. */
export function formatIgnored({ ignored, unknownTo }: OverrideReach): readonly string[] {
  const misfits = ignored.map(({ why, processes }) =>
    processes === 0 ? why : `${why} (in ${countOf(processes)})`,
  );
  return unknownTo === 0 ? misfits : [...misfits, `not known of ${countOf(unknownTo)}`];
}

function countOf(processes: number): string {
  return `${processes} process${processes === 1 ? "" : "es"}`;
}
