import { addressSubject } from "../address/client-address.ts";
import type { Awaitable } from "../base/awaitable.ts";
import { isPromiseLike } from "../base/awaitable.ts";
import { formatKind, formatReceived, HeadgateError } from "../base/errors.ts";
import { DEFAULT_DIMENSION, GLOBAL_DIMENSION } from "../base/policy.ts";
import type { SubjectSource } from "../fleet/directory/directory.ts";
import type { MadeLimiter } from "../limiter/limiter.ts";
import { LIMITER } from "../limiter/limiter.ts";
import { closedError } from "../limiter/open-limiter.ts";
import { refuseMissing } from "./answer.ts";
import type { HttpRequest } from "./client.ts";
import { withoutAddress } from "./client.ts";
import type { KeyFunction } from "./keys.ts";
import { byIp, countsByAddress, keyReaderOf, readsAddress, sourceOf } from "./keys.ts";
import type { GuardSettings } from "./parse-guard.ts";
import type { SubjectText } from "./subject.ts";
import { InvalidSubject, kindText, Subjects } from "./subject.ts";
import type { Verdict } from "./verdict.ts";
import { PASS } from "./verdict.ts";
import type { Step, Visit } from "./visit.ts";

/** What to do if the address to count by is missing. */
const OWN_KEY = "give a key of your own";

/** Reads the subjects by which a limiter counts a request. */
export interface SubjectReader<Request> {
  /** Whether addresses are counted, by a key or instead of a missing one. */
  readonly usesAddress: boolean;
  /** The source of the subjects in each dimension. */
  readonly sources: Readonly<Record<string, SubjectSource>>;
  /** Ends with a verdict for a request without its key. Fails if a key is not a string, or there is no address. */
  readonly read: Step<Request>;
}

/** Prepares the key functions that a limiter needs. Throws `HEADGATE_INVALID_OPTION` if one is missing. */
export function createSubjectReader<Request extends HttpRequest>(
  owner: string,
  limiter: MadeLimiter,
  { key: option, missing }: Pick<GuardSettings<Request>, "key" | "missing">,
): SubjectReader<Request> {
  const dimensions = new Set(limiter[LIMITER].counted.groups.map(({ dimension }) => dimension));
  dimensions.delete(GLOBAL_DIMENSION);
  const keys = [...dimensions].map((dimension) => {
    const key = keyOf(owner, dimension, option);
    return { dimension, key, read: keyReaderOf(key) };
  });

  function readFrom(
    start: number,
    subjects: Record<string, string | null>,
    visit: Visit<Request>,
  ): Awaitable<Verdict | undefined> {
    for (let i = start; i < keys.length; i += 1) {
      const key = keys[i] as (typeof keys)[number];
      const text = key.read(visit.request, visit.client.address);
      if (typeof text === "string") {
        subjects[key.dimension] = text;
      } else if (isPromiseLike(text)) {
        const next = (later: SubjectText) =>
          put(subjects, key, later, visit) ?? readFrom(i + 1, subjects, visit);
        return text.then(next);
      } else {
        const verdict = put(subjects, key, text, visit);
        if (verdict !== undefined) return verdict;
      }
    }
    return undefined;
  }

  /** Notes the subject of a dimension, or returns what happens to a request without one. */
  function put(
    subjects: Record<string, string | null>,
    { dimension, key }: (typeof keys)[number],
    text: SubjectText,
    { client }: Visit<Request>,
  ): Awaitable<Verdict> | undefined {
    if (text instanceof InvalidSubject) throw invalidKey(owner, dimension, text.value);
    if (text !== undefined) subjects[dimension] = text;
    else if (!client.address && countsByAddress(key)) return withoutAddress(owner, client, OWN_KEY);
    else if (missing === "skip") subjects[dimension] = null;
    else if (missing === "reject") return refuse(limiter, dimension);
    else {
      const { address } = client;
      if (!address) return withoutAddress(owner, client, OWN_KEY);
      // The address counts in a bucket that no key has.
      subjects[dimension] = kindText("ip", addressSubject(address));
    }
    return undefined;
  }

  return {
    usesAddress: keys.some(({ key }) => missing === "ip" || readsAddress(key)),
    sources: Object.fromEntries(keys.map(({ dimension, key }) => [dimension, sourceOf(key)])),
    read(visit) {
      if (visit.isOver) throw closedError(limiter.name);
      const subjects = new Subjects();
      visit.subjects = subjects;
      return readFrom(0, subjects, visit);
    },
  };
}

/** A request that lacks its key is not refused in shadow mode. */
async function refuse(limiter: MadeLimiter, dimension: string): Promise<Verdict> {
  return (await limiter[LIMITER].isInShadow()) ? PASS : refuseMissing(dimension);
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
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `${owner}: a limit counts per ${formatReceived(dimension)}, but key does not say who that is; give key: { ${dimension}: (request) => ... }`,
  );
}

function invalidKey(owner: string, dimension: string, value: unknown): HeadgateError {
  return new HeadgateError(
    "HEADGATE_INVALID_KEY",
    `${owner}: the key of ${formatReceived(dimension)} must be a string or a whole number, got ${formatKind(value)}`,
    { cause: value },
  );
}
