import { readPolicy } from "../algorithms/compile-policy.ts";
import {
  isArrayOf,
  isPlainObject,
  isRecordOf,
  isString,
  isWholeNumber,
  parseJson,
} from "../common/type-guards.ts";
import type {
  BreakerRecord,
  BreakerTargets,
  HttpUse,
  LimiterRecord,
  ProcessRecord,
  RegistryPolicy,
  RegistryRecord,
  RegistryShape,
  SubjectSource,
} from "./record.ts";
import { MAX_TARGET_CHARACTERS, MAX_TARGETS, RECORD_FORMAT } from "./record.ts";

type Properties = Readonly<Record<string, unknown>>;

/** Reads the record of a process. */
export function parseProcessRecord(text: string): ProcessRecord | UnreadableReason {
  return parseAs(text, isProcess);
}

/** Reads the record of a limiter or a breaker. */
export function parseSharedRecord(text: string): RegistryRecord | UnreadableReason {
  return parseAs(text, isRegistryRecord);
}

/** Unknown properties are kept, because a later version may have added them. */
function parseAs<T>(text: string, is: (value: unknown) => value is T): T | UnreadableReason {
  const record = parseJson(text);
  if (!isPlainObject(record) || !isWholeNumber(record["format"])) return "damaged";
  const { format, ...rest } = record;
  if (format !== RECORD_FORMAT) return "other-format";
  return is(rest) ? rest : "damaged";
}

function isProcess(value: unknown): value is ProcessRecord {
  return (
    isPlainObject(value) &&
    haveText(value, "process", "host", "version") &&
    isWholeNumber(value["pid"]) &&
    isWholeNumber(value["startedAt"]) &&
    isWholeNumber(value["more"]) &&
    isArrayOf(value["records"], isString) &&
    (value["targets"] === undefined || isArrayOf(value["targets"], isTargets))
  );
}

function isTargets(value: unknown): value is BreakerTargets {
  return (
    isPlainObject(value) &&
    isString(value["record"]) &&
    isArrayOf(value["names"], isTarget) &&
    value["names"].length <= MAX_TARGETS &&
    isWholeNumber(value["more"])
  );
}

function isTarget(value: unknown): value is string {
  return isString(value) && value !== "" && value.length <= MAX_TARGET_CHARACTERS;
}

function isRegistryRecord(value: unknown): value is RegistryRecord {
  return isLimiter(value) || isBreaker(value);
}

function isLimiter(value: unknown): value is LimiterRecord {
  return (
    isPlainObject(value) &&
    value["kind"] === "limiter" &&
    haveText(value, "name", "policy", "version") &&
    hasPolicy(value) &&
    (value["blockOn"] === undefined || value["blockOn"] === "settle") &&
    isArrayOf(value["shapes"], isShape) &&
    (value["perCallPolicies"] === undefined || isArrayOf(value["perCallPolicies"], isPolicy)) &&
    (value["morePerCallPolicies"] === undefined || isWholeNumber(value["morePerCallPolicies"])) &&
    (value["extends"] === undefined || isString(value["extends"])) &&
    typeof value["shadow"] === "boolean" &&
    isArrayOf(value["uses"], isUse)
  );
}

/** Whether the limits form a policy that this version knows. */
function hasPolicy({ limits, isTruncated }: Properties): boolean {
  if (isTruncated === true) return Array.isArray(limits) && limits.length === 0;
  try {
    readPolicy(limits);
    return Array.isArray(limits);
  } catch {
    return false;
  }
}

function isPolicy(value: unknown): value is RegistryPolicy {
  return isPlainObject(value) && hasPolicy(value) && isArrayOf(value["shapes"], isShape);
}

function isShape(value: unknown): value is RegistryShape {
  return (
    isPlainObject(value) &&
    haveText(value, "per", "fingerprint") &&
    isArrayOf(value["limits"], isString)
  );
}

function isUse(value: unknown): value is HttpUse {
  return (
    isPlainObject(value) &&
    haveText(value, "adapter", "missingKey") &&
    ["ip", "reject", "skip"].includes(value["missingKey"] as string) &&
    isRecordOf(value["keys"], (key): key is SubjectSource => isSource(key, MAX_NESTING)) &&
    (value["addressHeader"] === undefined || isString(value["addressHeader"])) &&
    isListSource(value["allowList"]) &&
    isListSource(value["denyList"])
  );
}

/** How deep keys may be nested, because readers of a record recurse into them. */
const MAX_NESTING = 8;

function isSource(value: unknown, levels: number): value is SubjectSource {
  if (!isPlainObject(value) || levels === 0) return false;
  const { by, ipv6Prefix, ipv4Prefix = 32, name, hash, keys } = value;
  if (by === "ip") return isWholeNumber(ipv6Prefix) && isWholeNumber(ipv4Prefix);
  if (by === "header") return isString(name) && (hash === "sha256" || hash === "hmac");
  if (by !== "combined") return by === "function";
  return isArrayOf(keys, (key): key is SubjectSource => isSource(key, levels - 1));
}

function isListSource(value: unknown): boolean {
  return value === undefined || value === "addresses" || value === "function";
}

function isBreaker(value: unknown): value is BreakerRecord {
  return (
    isPlainObject(value) &&
    value["kind"] === "breaker" &&
    haveText(value, "name", "policy", "fingerprint", "version") &&
    isPlainObject(value["options"])
  );
}

function haveText(value: Properties, ...names: readonly string[]): boolean {
  return names.every((name) => isString(value[name]));
}

/** A process that the index lists. */
export interface IndexedProcess {
  /** The name in the key of its record. */
  readonly name: string;
  /** Milliseconds since the epoch, by the server's clock. */
  readonly seenAt: number;
}

/** Reads an index, as registry.lua writes it. */
export function parseIndex(text: string): readonly IndexedProcess[] | UnreadableReason {
  return parseBody("registry", text, (body) => {
    const lines = body === "" ? [] : body.split("\n");
    const seen = lines.map((line) => /^([\w-]{16}) (\d{10})$/.exec(line));
    if (seen.includes(null)) return "damaged";
    return seen.map((match) => ({
      name: match?.[1] as string,
      seenAt: Number(match?.[2]) * 1_000,
    }));
  });
}

/** Why a record cannot be read: it is damaged, or a version of Headgate with another format wrote it. */
export type UnreadableReason = "damaged" | "other-format";

/** The only format that this version writes and reads. */
const FORMAT = "1";

/** Reads a text that begins with the line `headgate KIND FORMAT`, as a script wrote it. */
function parseBody<T>(
  kind: "registry" | "usage",
  text: string,
  read: (body: string) => T | UnreadableReason,
): T | UnreadableReason {
  const [head, found, format] = /^headgate (\w+) (\d+)(?:\n|$)/.exec(text) ?? [];
  if (head === undefined || found !== kind) return "damaged";
  return format === FORMAT ? read(text.slice(head.length)) : "other-format";
}
