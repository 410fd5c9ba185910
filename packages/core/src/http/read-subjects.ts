import { addressSubject } from "../address/client-address.ts";
import { formatKind, formatReceived, HeadgateError } from "../errors.ts";
import type { SubjectSource } from "../fleet/directory/directory.ts";
import type { Limiter } from "../limiter/limiter.ts";
import { partsOf } from "../limiter/limiter.ts";
import { DEFAULT_DIMENSION, GLOBAL_DIMENSION } from "../policy.ts";
import { refuseMissing } from "./answer.ts";
import type { GuardOptions, MissingKey } from "./guard-options.ts";
import { isPromiseLike } from "./is-promise-like.ts";
import type { HttpRequest, KeyFunction } from "./key-function.ts";
import { byIp, countsByAddress, readKey, sourceOf } from "./key-function.ts";
import type { RequestSubjects } from "./request-subjects.ts";
import { noSubjects } from "./request-subjects.ts";
import { kindSubject, subjectText } from "./subject.ts";
import type { Client, Verdict } from "./verdict.ts";
import { withoutAddress } from "./without-address.ts";

/** What to do if the address to count by is missing. */
const OWN_KEY = "give a key of your own";

/** What is read of a request: its subjects, or what happens to it without one. */
export type Read = RequestSubjects | Verdict;

/** Reads who a limiter counts a request as. */
export interface SubjectReader<Request> {
  /** Whether addresses are counted, by a key or instead of a missing one. */
  readonly usesAddress: boolean;
  /** What makes the subjects of each dimension. */
  readonly sources: Readonly<Record<string, SubjectSource>>;
  /** A promise only if a key function returns one. Throws or rejects if a key is not a string, or there is no address. */
  read(request: Request, client: Client): Read | Promise<Read>;
}

/** Prepares the key functions that a limiter needs. Throws `HEADGATE_INVALID_OPTION` if one is missing. */
export function createSubjectReader<Request extends HttpRequest>(
  owner: string,
  limiter: Limiter,
  option: GuardOptions<Request>["key"],
  missing: MissingKey,
): SubjectReader<Request> {
  const dimensions = new Set(partsOf(limiter).counted.groups.map(({ dimension }) => dimension));
  dimensions.delete(GLOBAL_DIMENSION);
  const keys = [...dimensions].map((dimension) => ({
    dimension,
    key: keyOf(owner, dimension, option),
  }));

  /** Notes the subject of a dimension that its key function returned; or returns what happens to a request without one. */
  function put(
    subjects: Record<string, string | null>,
    { dimension, key }: (typeof keys)[number],
    value: unknown,
    client: Client,
  ): Verdict | undefined {
    const subject = subjectText(value);
    if (subject === null) throw invalidKey(owner, dimension, value);
    if (subject !== undefined) subjects[dimension] = subject;
    else if (!client.address && countsByAddress(key)) return withoutAddress(owner, client, OWN_KEY);
    else if (missing === "skip") subjects[dimension] = null;
    else if (missing === "reject") return refuseMissing(dimension);
    else {
      // The address counts in a bucket that no key has.
      const { address } = client;
      if (!address) return withoutAddress(owner, client, OWN_KEY);
      subjects[dimension] = subjectText(kindSubject("ip", addressSubject(address))) as string;
    }
    return undefined;
  }

  function readFrom(
    start: number,
    subjects: Record<string, string | null>,
    request: Request,
    client: Client,
  ): Read | Promise<Read> {
    for (let i = start; i < keys.length; i += 1) {
      const one = keys[i] as (typeof keys)[number];
      const value = readKey(one.key, request, client.address);
      if (isPromiseLike(value)) return readLater(i, value, subjects, request, client);
      const verdict = put(subjects, one, value, client);
      if (verdict !== undefined) return verdict;
    }
    return subjects;
  }

  async function readLater(
    i: number,
    value: PromiseLike<unknown>,
    subjects: Record<string, string | null>,
    request: Request,
    client: Client,
  ): Promise<Read> {
    const verdict = put(subjects, keys[i] as (typeof keys)[number], await value, client);
    return verdict ?? readFrom(i + 1, subjects, request, client);
  }

  return {
    usesAddress: keys.some(({ key }) => missing === "ip" || readsAddress(key)),
    sources: Object.fromEntries(keys.map(({ dimension, key }) => [dimension, sourceOf(key)])),
    read: (request, client) => readFrom(0, noSubjects(), request, client),
  };
}

function keyOf<Request extends HttpRequest>(
  owner: string,
  dimension: string,
  option: GuardOptions<Request>["key"],
): KeyFunction<Request> {
  if (typeof option === "object" && Object.hasOwn(option, dimension)) {
    return (option as Record<string, KeyFunction<Request>>)[dimension] as KeyFunction<Request>;
  }
  if (dimension === DEFAULT_DIMENSION) return typeof option === "function" ? option : byIp();
  if (dimension === "ip") return byIp();
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `${owner}: a limit counts per ${formatReceived(dimension)}, but key does not say who that is; give key: { ${dimension}: (request) => ... }`,
  );
}

/** Whether a key function counts addresses, or asks for the client's. */
function readsAddress(key: KeyFunction<never>): boolean {
  return countsByAddress(key) || key.length > 1;
}

function invalidKey(owner: string, dimension: string, value: unknown): HeadgateError {
  return new HeadgateError(
    "HEADGATE_INVALID_KEY",
    `${owner}: the key of ${formatReceived(dimension)} must be a string or a whole number, got ${formatKind(value)}`,
    { cause: value },
  );
}
