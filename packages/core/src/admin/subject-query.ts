import { isIP } from "node:net";
import type { Awaitable } from "../common/type-guards.ts";
import { addressSubject } from "../net/client-address.ts";
import type { HttpUse, SubjectSource } from "../registry/record.ts";
import type { LimiterVersion } from "./limiter-versions.ts";

/** Where the subjects of requests come from. */
export type SubjectUse = Pick<HttpUse, "keys" | "missingKey">;

/** The known facts about a client, from which the subjects of each limiter are made. */
export interface SubjectQuery {
  /**
   * Without other facts: a subject in the form in which it is counted, for limiters with one dimension. With an address or a
   * header: the part of a key that a function of the application returns.
   */
  readonly text?: string | undefined;
  /** The subjects in the form in which they are counted, by dimension. */
  readonly named?: ReadonlyMap<string, string> | undefined;
  /** An IP address. */
  readonly ip?: string | undefined;
  /** A header that the client sends. The name is in lower case. */
  readonly header?: { readonly name: string; readonly value: string } | undefined;
  /** Whether the limiter's key has a `hashSecret`, if the registry does not say. */
  readonly hasHashSecret?: boolean | undefined;
  /** Called when the `hashSecret` of a limiter's key is needed; undefined if it is not known. */
  readonly hashSecret?: (() => Awaitable<string | undefined>) | undefined;
}

/** How a limiter is used if the registry does not say. */
const UNKNOWN_USE: SubjectUse = { keys: {}, missingKey: "reject" };

/** The ways in which a limiter is used; one without keys if none is known. */
export function usesOf({ uses }: Pick<LimiterVersion, "uses">): readonly SubjectUse[] {
  return uses.length === 0 ? [UNKNOWN_USE] : uses;
}

/** The source of a dimension's subjects; undefined if the registry does not describe it. */
export function registeredSource(
  { keys }: SubjectUse,
  dimension: string,
): SubjectSource | undefined {
  // A dimension may have a name that every object has, such as `constructor`.
  return Object.hasOwn(keys, dimension) ? keys[dimension] : undefined;
}

/** The likely source of a dimension's subjects, the only dimension or not, if the registry does not describe it. */
export function likelySource(
  dimension: string,
  isAlone: boolean,
  { ip, header, hasHashSecret }: SubjectQuery,
): SubjectSource {
  const isPlain = dimension === "default" && isAlone;
  if (dimension === "ip" || (ip !== undefined && isPlain)) return { by: "ip", ipv6Prefix: 64 };
  if (header === undefined || !isAlone) return { by: "function" };
  return { by: "header", name: header.name, hash: hasHashSecret ? "hmac" : "sha256" };
}

/** Whether a subject, as it is counted, may come from a source. */
export function mayComeFrom(source: SubjectSource, subject: string): boolean {
  if (source.by === "function" || subject.startsWith("~")) return true;
  if (source.by !== "ip") return false;
  const { ipv6Prefix, ipv4Prefix } = source;
  const [address = "", prefix] = subject.split("/");
  const version = isIP(address);
  if (version === 0) return false;
  return prefix === undefined
    ? addressSubject(address, ipv6Prefix, ipv4Prefix) === subject
    : prefix === String(version === 4 ? ipv4Prefix : ipv6Prefix);
}
