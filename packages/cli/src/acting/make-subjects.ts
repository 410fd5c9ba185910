import {
  subjectOfAddress,
  subjectOfAll,
  subjectOfHeader,
  subjectOfMissing,
} from "@headgate/core/http";
import type { KnownLimiter, SubjectSource, SubjectUse } from "@headgate/core/operate";
import {
  dimensionsOf,
  EVERYBODY,
  likelySource,
  listedSource,
  mayComeFrom,
  usesOf,
} from "@headgate/core/operate";
import { CommandError } from "../command/command-error.ts";
import type { Skipped } from "./action.ts";
import type { GivenSubject } from "./given-subject.ts";

/** A subject of a limiter, by dimension. */
export type Subject = Readonly<Record<string, string>>;

/** A subject, with the limiter that counts it. */
export type MadeSubject = readonly [known: KnownLimiter, subject: Subject];

/** The given subject, as one limiter counts it. */
export interface MadeSubjects {
  /** One for each way in which the limiter is used; none where nothing fits. */
  readonly subjects: readonly Subject[];
  /** What to give for what is missing. */
  readonly needed: string;
}

/** Makes the subjects of a limiter as its adapters do. Rejects with a `CommandError`, and with `HEADGATE_INVALID_OPTION`. */
export async function makeSubjects(
  known: KnownLimiter,
  given: GivenSubject,
): Promise<MadeSubjects> {
  const dimensions = dimensionsOf(known.limiter.limits);
  const own = dimensions.filter((dimension) => dimension !== "global");
  const made = new Map<string, Subject>();
  const unknown = [...given.named.keys()].find((dimension) => !dimensions.includes(dimension));
  const ways = usesOf(known);
  for (const use of unknown === undefined ? ways : []) {
    const entries: [string, string][] = [];
    for (const dimension of own) {
      const text = await makeOne(dimension, own, use, given);
      if (text !== undefined) entries.push([dimension, text]);
    }
    if (namesEverybody(given, own)) entries.push(["global", EVERYBODY]);
    const subject = Object.fromEntries(entries);
    if (entries.length > 0) made.set(JSON.stringify(subject), subject);
  }
  return { subjects: [...made.values()], needed: needed(dimensions, ways, unknown) };
}

/** The subjects of several limiters, and the limiters that count none. Rejects with the same errors. */
export async function makeAllSubjects(
  known: readonly KnownLimiter[],
  given: GivenSubject,
): Promise<{ readonly made: readonly MadeSubject[]; readonly skipped: readonly Skipped[] }> {
  const made: MadeSubject[] = [];
  const skipped: Skipped[] = [];
  for (const one of known) {
    const { subjects, needed: why } = await makeSubjects(one, given);
    made.push(...subjects.map((subject): MadeSubject => [one, subject]));
    if (subjects.length === 0) skipped.push({ limiter: one.limiter.name, why });
  }
  return { made, skipped };
}

/** No limiter counts such a subject. */
export function nothingFits(skipped: readonly Skipped[]): CommandError {
  if (skipped.length === 0) {
    return new CommandError(
      "the directory has no limiter: give --limiter NAME and its policy with --limits",
    );
  }
  const each = skipped.slice(0, 5).map(({ limiter, why }) => `${limiter} ${why}`);
  const more = skipped.length > 5 ? `; and ${skipped.length - 5} more` : "";
  return new CommandError(`no limiter counts such a subject: ${each.join("; ")}${more}`);
}

function namesEverybody({ named, text }: GivenSubject, own: readonly string[]): boolean {
  return named.get("global") === EVERYBODY || (own.length === 0 && text === EVERYBODY);
}

/** The subject of a dimension; undefined where it cannot be made. */
async function makeOne(
  dimension: string,
  own: readonly string[],
  use: SubjectUse,
  given: GivenSubject,
): Promise<string | undefined> {
  const { named, text, ip, header } = given;
  if (named.has(dimension)) return named.get(dimension);
  const isOnly = own.length === 1;
  const source = listedSource(use, dimension) ?? likelySource(dimension, isOnly, given);
  const isAlone = ip === undefined && header === undefined;
  if (isAlone && text !== undefined) return isOnly && mayComeFrom(source, text) ? text : undefined;
  const fromSource = await make(source, given);
  if (fromSource !== undefined) return fromSource;
  // A request without a key counts by its address.
  const isWithoutKey = use.missing === "ip" && header === undefined && text === undefined;
  return isWithoutKey && ip !== undefined ? subjectOfMissing(ip) : undefined;
}

async function make(source: SubjectSource, given: GivenSubject): Promise<string | undefined> {
  const { ip, header } = given;
  if (source.by === "ip") return ip && subjectOfAddress(ip, { ipv6Prefix: source.ipv6Prefix });
  if (source.by === "header") {
    if (header?.name !== source.name) return undefined;
    const hashSecret = source.hash === "hmac" ? await given.hashSecret() : undefined;
    return subjectOfHeader(header.name, header.value, { hashSecret });
  }
  return source.by === "all" ? makeAll(source.keys, given) : undefined;
}

/** Several parts together; the text that was given is the part that a function of the application makes. */
async function makeAll(
  keys: readonly SubjectSource[],
  given: GivenSubject,
): Promise<string | undefined> {
  const parts: string[] = [];
  for (const key of keys) {
    const part = key.by === "function" ? textOfFunction(given.text) : await make(key, given);
    if (part === undefined) return undefined;
    parts.push(part);
  }
  const functions = keys.filter(({ by }) => by === "function").length;
  return functions > 1 ? undefined : subjectOfAll(...parts);
}

/** As what a function returned is counted: it can be no subject of Headgate's own. */
function textOfFunction(text: string | undefined): string | undefined {
  return text?.startsWith("~") ? `~${text}` : text;
}

function needed(
  dimensions: readonly string[],
  uses: readonly SubjectUse[],
  unknown: string | undefined,
): string {
  const counts = `counts by ${dimensions.join(", ")}`;
  if (unknown !== undefined) return `${counts}, not by ${unknown}`;
  const each = dimensions.map((dimension) => {
    if (dimension === "global") return "--subject global=*";
    const ways = uses.map((use) => optionFor(dimension, listedSource(use, dimension)));
    return [...new Set(ways)].join(" or ");
  });
  return `${counts}: give ${each.join(" and ")}`;
}

function optionFor(dimension: string, source: SubjectSource | undefined): string {
  if (source?.by === "ip") return "--ip ADDRESS";
  if (source?.by === "header") return `--header ${source.name}`;
  if (source?.by === "all") return source.keys.map(partFor).join(" with ");
  const how = source === undefined ? "" : " (a function of the application makes it)";
  return `--subject ${dimension}=VALUE${how}`;
}

function partFor(source: SubjectSource): string {
  return source.by === "function"
    ? "SUBJECT (what a function of the application makes)"
    : optionFor("", source);
}
