import { readPolicy } from "../algorithms/compile-policy.ts";
import type { Limit } from "../common/policy.ts";
import {
  arrayOf,
  isBoolean,
  isPlainObject,
  isString,
  isWholeNumber,
  objectOf,
  oneOf,
  optional,
  parseJson,
  recordOf,
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

const isTargets = objectOf<BreakerTargets>({
  record: isString,
  names: (names): names is readonly string[] =>
    arrayOf(isTarget)(names) && names.length <= MAX_TARGETS,
  more: isWholeNumber,
});

function isTarget(value: unknown): value is string {
  return isString(value) && value !== "" && value.length <= MAX_TARGET_CHARACTERS;
}

const isProcess = objectOf<ProcessRecord>({
  process: isString,
  host: isString,
  pid: isWholeNumber,
  startedAt: isWholeNumber,
  version: isString,
  records: arrayOf(isString),
  more: isWholeNumber,
  targets: optional(arrayOf(isTargets)),
  details: optional(isPlainObject),
});

const isShape = objectOf<RegistryShape>({
  per: isString,
  fingerprint: isString,
  limits: arrayOf(isString),
});

const isRegistryPolicy = objectOf<RegistryPolicy>({ limits: isPolicy, shapes: arrayOf(isShape) });

/** Whether limits form a policy that this version knows. */
function isPolicy(limits: unknown): limits is readonly Limit[] {
  try {
    readPolicy(limits);
    return Array.isArray(limits);
  } catch {
    return false;
  }
}

const isListSource = oneOf("addresses", "function");

const isUse = objectOf<HttpUse>({
  adapter: isString,
  keys: recordOf((key): key is SubjectSource => isSource(key, MAX_NESTING)),
  missingKey: oneOf("ip", "reject", "skip"),
  addressHeader: optional(isString),
  allowList: optional(isListSource),
  denyList: optional(isListSource),
});

/** How deep keys may be nested, because readers of a record recurse into them. */
const MAX_NESTING = 8;

function isSource(value: unknown, levels: number): value is SubjectSource {
  if (!isPlainObject(value) || levels === 0) return false;
  const { by, ipv6Prefix, ipv4Prefix = 32, name, hash, keys } = value;
  if (by === "ip") return isWholeNumber(ipv6Prefix) && isWholeNumber(ipv4Prefix);
  if (by === "header") return isString(name) && (hash === "sha256" || hash === "hmac");
  if (by !== "combined") return by === "function";
  return arrayOf((key): key is SubjectSource => isSource(key, levels - 1))(keys);
}

function isShare(value: unknown): value is number {
  return typeof value === "number" && value > 0 && value <= 1;
}

const isLimiter = objectOf<LimiterRecord>({
  kind: oneOf("limiter"),
  name: isString,
  policy: isString,
  // A record that was too long has none.
  limits: (limits): limits is readonly Limit[] => isEmptyList(limits) || isPolicy(limits),
  blockOn: optional(oneOf("settle")),
  shapes: arrayOf(isShape),
  perCallPolicies: optional(arrayOf(isRegistryPolicy)),
  morePerCallPolicies: optional(isWholeNumber),
  extends: optional(isString),
  shadow: isBoolean,
  onUnavailable: oneOf("local", "allow", "deny"),
  localShare: optional(isShare),
  uses: arrayOf(isUse),
  version: isString,
  isTruncated: optional(isBoolean),
});

const isBreaker = objectOf<BreakerRecord>({
  kind: oneOf("breaker"),
  name: isString,
  policy: isString,
  options: isPlainObject,
  fingerprint: isString,
  version: isString,
  isTruncated: optional(isBoolean),
});

function isRegistryRecord(value: unknown): value is RegistryRecord {
  if (isLimiter(value)) return (value.isTruncated === true) === isEmptyList(value.limits);
  return isBreaker(value);
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
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
