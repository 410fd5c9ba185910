import {
  subjectOfAddress,
  subjectOfAll,
  subjectOfHeader,
  subjectOfMissing,
} from "@headgate/core/http";
import type { KnownLimiter, SoughtClient, SubjectSource, SubjectUse } from "@headgate/core/operate";
import {
  dimensionsOf,
  EVERYBODY,
  likelySource,
  listedSource,
  mayComeFrom,
  usesOf,
} from "@headgate/core/operate";
import type { SubjectOf } from "../api.ts";
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

/**
 * Creates the subjects of a limiter in the same way as its adapters. Leaves out dimensions that cannot be created from the
 * input. Also leaves out the global dimension if a limiter has others: blocking a subject must not block all clients.
 */
export function makeSubjects(known: KnownLimiter, given: GivenSubject): MadeSubjects {
  const dimensions = dimensionsOf(known.limiter.limits);
  const own = dimensions.filter((dimension) => dimension !== "global");
  const ways = usesOf(known);
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
  use: SubjectUse,
  given: GivenSubject,
): string | undefined {
  const isOnly = own.length === 1;
  const source = listedSource(use, dimension) ?? likelySource(dimension, isOnly, clientOf(given));
  if (given.as === "text") {
    return isOnly && mayComeFrom(source, given.text) ? given.text : undefined;
  }
  const text = make(source, given);
  if (text !== undefined || given.as !== "address" || use.missing !== "ip") return text;
  // A request without a key counts by its address.
  return subjectOfMissing(given.address);
}

function clientOf(given: GivenSubject): SoughtClient {
  return {
    ip: given.as === "address" ? given.address : undefined,
    header: given.as === "header" ? given : undefined,
    hasHashSecret: given.as === "header" && given.hashSecret !== undefined,
  };
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

function needsOf(dimensions: readonly string[], ways: readonly SubjectUse[]): string {
  const each = dimensions.map((dimension) => {
    if (dimension === "global") return "all clients together";
    const sources = ways.map((use) => listedSource(use, dimension) ?? { by: "function" as const });
    return `${dimension} (${[...new Set(sources.map(formatSource))].join(" or ")})`;
  });
  return `counts ${each.join(" and ")}`;
}
