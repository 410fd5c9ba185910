import {
  combineSubjects,
  subjectOfAddress,
  subjectOfHeader,
  subjectOfMissingKey,
} from "../http/subject.ts";
import { GLOBAL_SUBJECT } from "../policy/counters.ts";
import type { SubjectSource } from "../registry/record.ts";
import type { LimiterVersion } from "./limiter-versions.ts";
import { dimensionsOf } from "./limiter-versions.ts";
import type { SubjectQuery, SubjectUse } from "./subject-query.ts";
import { likelySource, mayComeFrom, registeredSource, usesOf } from "./subject-query.ts";

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
