import { isIP } from "node:net";
import {
  subjectOfAddress,
  subjectOfAll,
  subjectOfHeader,
  subjectOfMissing,
} from "@headgate/core/http";
import type { HttpUse, SubjectSource } from "@headgate/core/operate";
import type { GivenSubject } from "./given-subject.ts";
import type { KnownLimiter } from "./known-limiters.ts";

/** A subject of a limiter, by dimension. */
export type Subject = Readonly<Record<string, string>>;

/** The given subject, as one limiter counts it. */
export interface MadeSubjects {
  /** One for each way in which the limiter is used; none where nothing fits. */
  readonly subjects: readonly Subject[];
  /** Dimensions without a given subject. */
  readonly missing: readonly string[];
  /** What to give for what is missing. */
  readonly needed: string;
}

type Use = Pick<HttpUse, "keys" | "missing">;

/** How a limiter is used of which nothing is known. */
const UNKNOWN_USE: Use = { keys: {}, missing: "reject" };

const EVERYBODY = "*";

/** Makes the subjects of a limiter as its adapters do. Rejects with a `CommandError`, and with `HEADGATE_INVALID_OPTION`. */
export async function makeSubjects(
  { limiter, uses }: KnownLimiter,
  given: GivenSubject,
): Promise<MadeSubjects> {
  const dimensions = dimensionsOf(limiter.limits);
  const own = dimensions.filter((dimension) => dimension !== "global");
  const made = new Map<string, Subject>();
  const missing = new Set<string>();
  const unknown = [...given.named.keys()].find((dimension) => !dimensions.includes(dimension));
  const ways = uses.length === 0 ? [UNKNOWN_USE] : uses;
  for (const use of unknown === undefined ? ways : []) {
    const entries: [string, string][] = [];
    for (const dimension of own) {
      const text = await makeOne(dimension, own, use, given);
      if (text === undefined) missing.add(dimension);
      else entries.push([dimension, text]);
    }
    if (namesEverybody(given, own)) entries.push(["global", EVERYBODY]);
    const subject = Object.fromEntries(entries);
    if (entries.length > 0) made.set(JSON.stringify(subject), subject);
  }
  return {
    subjects: [...made.values()],
    missing: [...missing],
    needed: needed(dimensions, ways, unknown),
  };
}

/** The dimensions by which limits count. */
export function dimensionsOf(limits: readonly { readonly per?: string | undefined }[]): string[] {
  return [...new Set(limits.map(({ per = "default" }) => per))];
}

function namesEverybody({ named, text }: GivenSubject, own: readonly string[]): boolean {
  return named.get("global") === EVERYBODY || (own.length === 0 && text === EVERYBODY);
}

/** The subject of a dimension; undefined where it cannot be made. */
async function makeOne(
  dimension: string,
  own: readonly string[],
  use: Use,
  given: GivenSubject,
): Promise<string | undefined> {
  const { named, text, ip, header } = given;
  if (named.has(dimension)) return named.get(dimension);
  const source = use.keys[dimension] ?? guess(dimension, own, given);
  if (source === undefined) return undefined;
  const isAlone = ip === undefined && header === undefined;
  if (isAlone && text !== undefined) {
    return own.length === 1 && mayBe(text, source) ? text : undefined;
  }
  const fromSource = await make(source, given);
  if (fromSource !== undefined) return fromSource;
  // A request without a key counts by its address.
  const isWithoutKey = use.missing === "ip" && header === undefined && text === undefined;
  return isWithoutKey && ip !== undefined ? subjectOfMissing(ip) : undefined;
}

/** The likely source of a key that the directory does not describe. */
function guess(
  dimension: string,
  own: readonly string[],
  { ip, header, hasHashSecret }: GivenSubject,
): SubjectSource | undefined {
  const isPlain = dimension === "default" && own.length === 1;
  if (dimension === "ip" || (ip !== undefined && isPlain)) return { by: "ip", ipv6Prefix: 64 };
  if (header !== undefined && own.length === 1) {
    return { by: "header", name: header.name, hash: hasHashSecret ? "hmac" : "sha256" };
  }
  return { by: "function" };
}

/** Whether a text, as it is counted, may come from a key. */
function mayBe(text: string, source: SubjectSource): boolean {
  if (source.by === "function" || text.startsWith("~")) return true;
  if (source.by !== "ip") return false;
  const { ipv6Prefix } = source;
  const [address = "", prefix] = text.split("/");
  if (isIP(address) === 0) return false;
  return prefix === undefined
    ? subjectOfAddress(address, { ipv6Prefix }) === text
    : prefix === String(ipv6Prefix);
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
  uses: readonly Use[],
  unknown: string | undefined,
): string {
  const counts = `counts by ${dimensions.join(", ")}`;
  if (unknown !== undefined) return `${counts}, not by ${unknown}`;
  const each = dimensions.map((dimension) => {
    if (dimension === "global") return "--subject global=*";
    const ways = uses
      .map(({ keys }) => keys[dimension])
      .map((source) => optionFor(dimension, source));
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
