import { formatKind, formatReceived, HeadgateError, invalidOption } from "../common/errors.ts";
import { DEFAULT_DIMENSION, GLOBAL_DIMENSION } from "../common/policy.ts";
import type { Awaitable } from "../common/type-guards.ts";
import { closedError } from "../limiter/limiter-instance.ts";
import type { LimiterWithInternals } from "../limiter/limiter-internals.ts";
import { LIMITER } from "../limiter/limiter-internals.ts";
import { addressSubject } from "../net/client-address.ts";
import type { SubjectSource } from "../registry/record.ts";
import type { Verdict } from "./apply-verdict.ts";
import { PASS } from "./apply-verdict.ts";
import type { HttpRequest } from "./client.ts";
import { handleMissingAddress } from "./client.ts";
import type { KeyDescription, KeyFunction, RawAddressListener } from "./keys.ts";
import { byIp, describeKey } from "./keys.ts";
import type { GuardSettings } from "./parse-guard-options.ts";
import { refuseMissingKey } from "./rate-limit-response.ts";
import type { GuardStep, RequestContext } from "./request-context.ts";
import type { AddressPrefixes, SubjectText } from "./subject.ts";
import { formatSubject, InvalidSubject } from "./subject.ts";
import type { Warn } from "./warn.ts";

type MutableSubjects = Record<string, string | null>;

/*
 * An object that inherits nothing, so that a dimension's name finds and changes only own properties. V8 stores one made by
 * `Object.create(null)` as a hash table, which is ten times as slow to create and read.
 */
export const Subjects = function Subjects() {} as unknown as new () => MutableSubjects;
Subjects.prototype = Object.create(null);

/** The fix for a request without the address to count by. */
const OWN_KEY_FIX = "use a key function of your own";

/** Reads the subjects by which a limiter counts a request. */
export interface SubjectReader<Request> {
  /** Whether addresses are counted, by a key or instead of a missing one. */
  readonly usesAddress: boolean;
  /** The source of the subjects in each dimension. */
  readonly sources: Readonly<Record<string, SubjectSource>>;
  /** Returns a verdict for a request without its key. Fails if a key is not a string, or if there is no address. */
  readonly read: GuardStep<Request>;
}

/**
 * Prepares the key functions that a limiter needs, and warns once of each that returns raw addresses. Throws
 * `HEADGATE_INVALID_OPTION` if one is missing.
 */
export function createSubjectReader<Request extends HttpRequest>(
  owner: string,
  limiter: LimiterWithInternals,
  { key: option, missingKey }: Pick<GuardSettings<Request>, "key" | "missingKey">,
  warn: Warn,
): SubjectReader<Request> {
  const dimensions = new Set(limiter[LIMITER].policy.groups.map(({ dimension }) => dimension));
  dimensions.delete(GLOBAL_DIMENSION);
  const keys = [...dimensions].map((dimension): SubjectKey<Request> => {
    const key = keyOf(owner, dimension, option);
    const described = describeKey(key);
    const { countsAddress, source } = described;
    const subjectKey: SubjectKey<Request> = {
      ...described,
      dimension,
      // A second parameter is the client's address.
      usesAddress:
        countsAddress || missingKey === "ip" || (source.by === "function" && key.length > 1),
      prefixes: source.by === "ip" ? source : undefined,
      onRawAddress(request) {
        subjectKey.onRawAddress = undefined;
        warn("HEADGATE_RAW_ADDRESS_KEY", rawAddressWarning(owner, dimension), request);
      },
    };
    return subjectKey;
  });
  const put = createSubjectSetter<Request>(owner, limiter, missingKey);

  function read(context: RequestContext<Request>, start = 0): Awaitable<Verdict | undefined> {
    if (start === 0) {
      if (context.isClosed) throw closedError(limiter.name);
      context.subjects = new Subjects();
    }
    const { address } = context.client;
    for (let i = start; i < keys.length; i += 1) {
      const key = keys[i] as SubjectKey<Request>;
      const text =
        address && key.prefixes !== undefined
          ? addressSubject(address, key.prefixes.ipv6Prefix, key.prefixes.ipv4Prefix)
          : key.read(context.request, address, key.onRawAddress);
      if (typeof text === "object" && "then" in text) {
        return text.then((later) => put(key, later, context) ?? read(context, i + 1));
      }
      if (typeof text === "string") (context.subjects as MutableSubjects)[key.dimension] = text;
      else {
        const verdict = put(key, text, context);
        if (verdict !== undefined) return verdict;
      }
    }
    return undefined;
  }

  return {
    usesAddress: keys.some(({ usesAddress }) => usesAddress),
    sources: Object.fromEntries(keys.map(({ dimension, source }) => [dimension, source])),
    read,
  };
}

/** One dimension, with how its subject is read. */
interface SubjectKey<Request> extends KeyDescription<Request> {
  readonly dimension: string;
  /** Whether the client's address is counted, by the key or instead of a missing one, or passed to it. */
  readonly usesAddress: boolean;
  /** The bits of an address that count, for a key of addresses alone. */
  readonly prefixes: AddressPrefixes | undefined;
  /** Warns of the first raw address; undefined from then on. */
  onRawAddress: RawAddressListener | undefined;
}

function rawAddressWarning(owner: string, dimension: string): string {
  return `${owner}: the key of ${formatReceived(dimension)} holds a client's address as the framework gives it, so an IPv6 client, which has 2^64 addresses, gets a counter for each, and an IPv4 client one for each notation; use byIp(), or the second argument of the key function, which is the address as byIp() counts it; to count addresses only of requests without a key, return undefined for them`;
}

/** Stores the subject of a dimension, or returns the verdict for a request without one. */
function createSubjectSetter<Request extends HttpRequest>(
  owner: string,
  limiter: LimiterWithInternals,
  missing: GuardSettings<Request>["missingKey"],
): (
  key: SubjectKey<Request>,
  text: SubjectText,
  context: RequestContext<Request>,
) => Awaitable<Verdict> | undefined {
  return ({ dimension, countsAddress }, text, { client, subjects }) => {
    const made = subjects as MutableSubjects;
    const { address } = client;
    if (text instanceof InvalidSubject) throw invalidKey(owner, dimension, text.value);
    if (text !== undefined) made[dimension] = text;
    else if (!address && countsAddress) return handleMissingAddress(owner, client, OWN_KEY_FIX);
    else if (missing === "skip") made[dimension] = null;
    else if (missing === "reject") return refuseUnlessShadow(limiter, dimension);
    else if (!address) return handleMissingAddress(owner, client, OWN_KEY_FIX);
    // The address counts in a bucket that no key can have.
    else made[dimension] = formatSubject("ip", addressSubject(address));
    return undefined;
  };
}

/** A request without its key is not refused in shadow mode. */
async function refuseUnlessShadow(
  limiter: LimiterWithInternals,
  dimension: string,
): Promise<Verdict> {
  return (await limiter[LIMITER].isInShadow()) ? PASS : refuseMissingKey(dimension);
}

function keyOf<Request extends HttpRequest>(
  owner: string,
  dimension: string,
  option: GuardSettings<Request>["key"],
): KeyFunction<Request> {
  if (typeof option === "object" && Object.hasOwn(option, dimension)) {
    return (option as Record<string, KeyFunction<Request>>)[dimension] as KeyFunction<Request>;
  }
  if (dimension === DEFAULT_DIMENSION) return typeof option === "function" ? option : byIp();
  if (dimension === "ip") return byIp();
  throw invalidOption(
    `${owner}: a limit counts per ${formatReceived(dimension)}, but key has no function for it; give key: { ${dimension}: (request) => ... }`,
  );
}

function invalidKey(owner: string, dimension: string, value: unknown): HeadgateError {
  return new HeadgateError(
    "HEADGATE_INVALID_KEY",
    `${owner}: the key of ${formatReceived(dimension)} must be a string or a whole number, got ${kindOfKey(value)}`,
    { cause: value },
  );
}

/** The kind of a value that is no key, without a number that may identify a client. */
function kindOfKey(value: unknown): string {
  if (typeof value !== "number") return formatKind(value);
  if (!Number.isFinite(value)) return String(value);
  return Number.isInteger(value) ? "a number that is not exact: give it as text" : "a fraction";
}
