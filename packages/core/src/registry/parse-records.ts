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

/** Reads the entries of an index, as registry.lua writes it: names and seconds. */
export function parseIndex(
  entries: readonly (readonly [name: string, second: string])[],
): readonly IndexedProcess[] | UnreadableReason {
  const processes = entries.map(([name, second]) => ({ name, seenAt: Number(second) * 1_000 }));
  const isValid = ({ name, seenAt }: IndexedProcess): boolean =>
    /^[\w-]{16}$/.test(name) && isWholeNumber(seenAt);
  return processes.every(isValid) ? processes : "damaged";
}

/** Why a record cannot be read: it is damaged, or a version of Headgate with another format wrote it. */
export type UnreadableReason = "damaged" | "other-format";
