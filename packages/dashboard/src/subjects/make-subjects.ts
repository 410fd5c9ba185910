import { isIP } from "node:net";
import {
  subjectOfAddress,
  subjectOfAll,
  subjectOfHeader,
  subjectOfMissing,
} from "@headgate/core/http";
import type { HttpUse, SubjectSource } from "@headgate/core/operate";
import type { SubjectOf } from "../api.ts";
import type { KnownLimiter } from "../limiters.ts";
import { dimensionsOf } from "../limiters.ts";
import { formatSource } from "../words/use.ts";

/** The subject to look for. */
export type GivenSubject =
  | { readonly as: "text"; readonly text: string }
  | { readonly as: "address"; readonly address: string }
  | {
      readonly as: "header";
      /** In lower case. */
      readonly name: string;
      readonly value: string;
      readonly hashSecret: string | undefined;
    };

/** The given subject, in the forms that one limiter counts. */
interface MadeSubjects {
  /** One for each way in which the limiter is used; empty if nothing fits. */
  readonly subjects: readonly SubjectOf[];
  /** What the limiter counts by. */
  readonly needs: string;
}

/** The only subject of `global` limits. */
export const EVERYBODY = "*";

type Use = Pick<HttpUse, "keys" | "missing">;

/** How a limiter is used if the directory does not tell. */
const UNKNOWN_USE: Use = { keys: {}, missing: "reject" };

/**
 * Creates the subjects of a limiter in the same way as its adapters. Leaves out dimensions that cannot be created from the
 * input. Also leaves out the global dimension if a limiter has others: blocking a subject must not block all clients.
 */
export function makeSubjects({ limiter, uses }: KnownLimiter, given: GivenSubject): MadeSubjects {
  const dimensions = dimensionsOf(limiter.limits);
  const own = dimensions.filter((dimension) => dimension !== "global");
  const ways = uses.length === 0 ? [UNKNOWN_USE] : uses;
  const made = new Map<string, SubjectOf>();
  if (own.length === 0) made.set("", { global: EVERYBODY });
  for (const use of ways) {
    const entries = own
      .map((dimension) => [dimension, makeOne(dimension, own, use, given)] as const)
      .filter(([, text]) => text !== undefined) as [string, string][];
    const subject = Object.fromEntries(entries);
    if (entries.length > 0) made.set(JSON.stringify(subject), subject);
  }
  return { subjects: [...made.values()], needs: needsOf(dimensions, ways) };
}

/** The subject of a dimension; undefined if it cannot be created. */
function makeOne(
  dimension: string,
  own: readonly string[],
  use: Use,
  given: GivenSubject,
): string | undefined {
  const source = sourceOf(use, dimension) ?? guess(dimension, own, given);
  if (given.as === "text") {
    return own.length === 1 && mayBe(given.text, source) ? given.text : undefined;
  }
  const text = make(source, given);
  if (text !== undefined || given.as !== "address" || use.missing !== "ip") return text;
  // A request without a key counts by its address.
  return subjectOfMissing(given.address);
}

/** A dimension may have a name that every object has, such as `constructor`. */
function sourceOf({ keys }: Use, dimension: string): SubjectSource | undefined {
  return Object.hasOwn(keys, dimension) ? keys[dimension] : undefined;
}

/** The likely source of a key that the directory does not describe. */
function guess(dimension: string, own: readonly string[], given: GivenSubject): SubjectSource {
  const isPlain = dimension === "default" && own.length === 1;
  if (dimension === "ip" || (given.as === "address" && isPlain)) {
    return { by: "ip", ipv6Prefix: 64 };
  }
  if (given.as !== "header" || own.length > 1) return { by: "function" };
  const hash = given.hashSecret === undefined ? "sha256" : "hmac";
  return { by: "header", name: given.name, hash };
}

/** Whether a counted text may come from a key. */
function mayBe(text: string, source: SubjectSource): boolean {
  if (source.by === "function" || text.startsWith("~")) return true;
  if (source.by !== "ip") return false;
  const [address = "", prefix] = text.split("/");
  if (isIP(address) === 0) return false;
  const { ipv6Prefix } = source;
  return prefix === undefined
    ? subjectOfAddress(address, { ipv6Prefix }) === text
    : prefix === String(ipv6Prefix);
}

function make(source: SubjectSource, given: GivenSubject): string | undefined {
  if (source.by === "all") {
    const parts = source.keys.map((key) => make(key, given));
    return parts.every((part) => part !== undefined) ? subjectOfAll(...parts) : undefined;
  }
  if (source.by === "ip") {
    if (given.as !== "address") return undefined;
    return subjectOfAddress(given.address, { ipv6Prefix: source.ipv6Prefix });
  }
  if (source.by !== "header" || given.as !== "header" || given.name !== source.name) {
    return undefined;
  }
  const { value, hashSecret } = given;
  if (source.hash === "sha256") return subjectOfHeader(given.name, value);
  return hashSecret === undefined ? undefined : subjectOfHeader(given.name, value, { hashSecret });
}

function needsOf(dimensions: readonly string[], ways: readonly Use[]): string {
  const each = dimensions.map((dimension) => {
    if (dimension === "global") return "all clients together";
    const sources = ways.map((use) => sourceOf(use, dimension) ?? { by: "function" as const });
    return `${dimension} (${[...new Set(sources.map(formatSource))].join(" or ")})`;
  });
  return `counts ${each.join(" and ")}`;
}
