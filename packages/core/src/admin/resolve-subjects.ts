import { isIP } from "node:net";
import type { Awaitable } from "../common/type-guards.ts";
import {
  combineSubjects,
  subjectOfAddress,
  subjectOfHeader,
  subjectOfMissingKey,
} from "../http/subject.ts";
import { addressSubject } from "../net/client-address.ts";
import { GLOBAL_SUBJECT } from "../policy/counters.ts";
import type { HttpUse, SubjectSource } from "../registry/record.ts";
import type { LimiterVersion } from "./limiter-versions.ts";
import { dimensionsOf } from "./limiter-versions.ts";

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

/** Where the subjects of requests come from. */
type SubjectUse = Pick<HttpUse, "keys" | "missingKey">;

/** How a limiter is used if the registry does not say. */
const UNKNOWN_USE: SubjectUse = { keys: {}, missingKey: "reject" };

/**
 * The subjects of a client, as the adapters make them for a limiter: one for each way in which the limiter is used; none if it
 * does not count such a client. A dimension that cannot be made is left out. The subject of all clients together is left out
 * unless the query names it: a block of it would block every client. Rejects with `HEADGATE_INVALID_KEY`, `HEADGATE_EMPTY_KEY` and
 * `HEADGATE_INVALID_OPTION`.
 */
export async function resolveSubjects(
  known: LimiterVersion,
  client: SubjectQuery,
): Promise<readonly Readonly<Record<string, string>>[]> {
  const own = dimensionsOf(known.limiter.limits).filter((dimension) => dimension !== "global");
  const made = new Map<string, Readonly<Record<string, string>>>();
  for (const use of usesOf(known)) {
    const entries: [string, string][] = [];
    for (const dimension of own) {
      const text = await subjectIn(dimension, own.length === 1, use, client);
      if (text !== undefined) entries.push([dimension, text]);
    }
    if (hasAnySubject(client, own)) entries.push(["global", GLOBAL_SUBJECT]);
    const subject = Object.fromEntries(entries);
    if (entries.length > 0) made.set(JSON.stringify(subject), subject);
  }
  return [...made.values()];
}

/** The address that a query is about: that of an IPv6 client, whose subject is a network, is the network's first. */
export function queriedAddress({ ip, text, named }: SubjectQuery): string | undefined {
  return [ip, text, ...(named?.values() ?? [])]
    .map((one) => one?.split("/")[0]?.replace(/%.*$/s, ""))
    .find((one) => one !== undefined && isIP(one) !== 0);
}

/** Where the subjects of a dimension come from, in each way in which a limiter is used; undefined if the registry does not say. */
export function subjectSourcesOf(
  known: Pick<LimiterVersion, "uses">,
  dimension: string,
): readonly (SubjectSource | undefined)[] {
  return usesOf(known).map((use) => registeredSource(use, dimension));
}

function hasAnySubject({ named, text }: SubjectQuery, own: readonly string[]): boolean {
  return named?.get("global") === GLOBAL_SUBJECT || (own.length === 0 && text === GLOBAL_SUBJECT);
}

/** The subject of a dimension, the only one or not; undefined if it cannot be made. */
async function subjectIn(
  dimension: string,
  isOnly: boolean,
  use: SubjectUse,
  client: SubjectQuery,
): Promise<string | undefined> {
  const { named, text, ip, header } = client;
  const given = named?.get(dimension);
  if (given !== undefined) return given;
  const source = registeredSource(use, dimension) ?? likelySource(dimension, isOnly, client);
  const isAlone = ip === undefined && header === undefined;
  if (isAlone && text !== undefined) return isOnly && mayComeFrom(source, text) ? text : undefined;
  const made = await makeSubject(source, client);
  if (made !== undefined) return made;
  // A request without a key counts by its address.
  const isWithoutKey = use.missingKey === "ip" && header === undefined && text === undefined;
  return isWithoutKey && ip !== undefined ? subjectOfMissingKey(ip) : undefined;
}

async function makeSubject(
  source: SubjectSource,
  client: SubjectQuery,
): Promise<string | undefined> {
  const { ip, header } = client;
  if (source.by === "ip") {
    const { ipv6Prefix, ipv4Prefix } = source;
    return ip === undefined ? undefined : subjectOfAddress(ip, { ipv6Prefix, ipv4Prefix });
  }
  if (source.by === "combined") return makeCombinedSubject(source.keys, client);
  if (source.by === "function" || header?.name !== source.name) return undefined;
  if (source.hash === "sha256") return subjectOfHeader(header.name, header.value);
  const hashSecret = await client.hashSecret?.();
  return hashSecret === undefined
    ? undefined
    : subjectOfHeader(header.name, header.value, { hashSecret });
}

/** Several parts together, of which the application may make one. */
async function makeCombinedSubject(
  keys: readonly SubjectSource[],
  client: SubjectQuery,
): Promise<string | undefined> {
  const parts: string[] = [];
  for (const key of keys) {
    const part =
      key.by === "function" ? escapeFunctionResult(client.text) : await makeSubject(key, client);
    if (part === undefined) return undefined;
    parts.push(part);
  }
  const functions = keys.filter(({ by }) => by === "function").length;
  return functions > 1 ? undefined : combineSubjects(...parts);
}

/** The subject for a function's result, escaped so that it cannot be a subject of Headgate's own. */
function escapeFunctionResult(text: string | undefined): string | undefined {
  return text?.startsWith("~") ? `~${text}` : text;
}

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
