import { formatKind, formatReceived, HeadgateError } from "../errors.ts";
import type { Limiter } from "../limiter/limiter.ts";
import { partsOf } from "../limiter/limiter.ts";
import { DEFAULT_DIMENSION, GLOBAL_DIMENSION } from "../policy.ts";
import { refuseMissing } from "./answer.ts";
import { addressSubject } from "./client-address.ts";
import type { GuardOptions, MissingKey } from "./guard-options.ts";
import type { HttpRequest, KeyFunction } from "./key-function.ts";
import { byIp, countsByAddress } from "./key-function.ts";
import { kindSubject, subjectText } from "./subject.ts";
import type { Client, Verdict } from "./verdict.ts";

/** Who a request is counted as, by dimension; null where its limits are left out. */
export type RequestSubjects = Readonly<Record<string, string | null>>;

/** Reads who a limiter counts a request as. */
export interface SubjectReader<Request> {
  /** Whether addresses are counted, by a key or in place of a missing one. */
  readonly usesAddress: boolean;
  /** The subjects, or what happens to a request that has none. Rejects when a key is not a string, or there is no address. */
  read(request: Request, client: Client): Promise<RequestSubjects | Verdict>;
}

/** Prepares the key functions that a limiter needs. Throws `HEADGATE_INVALID_OPTION` when one is lacking. */
export function createSubjectReader<Request extends HttpRequest>(
  owner: string,
  limiter: Limiter,
  option: GuardOptions<Request>["key"],
  missing: MissingKey,
): SubjectReader<Request> {
  const dimensions = new Set(partsOf(limiter).counters.groups.map(({ dimension }) => dimension));
  dimensions.delete(GLOBAL_DIMENSION);
  const keys = [...dimensions].map((dimension) => ({
    dimension,
    key: keyOf(owner, dimension, option),
  }));

  return {
    usesAddress: keys.some(({ key }) => missing === "ip" || countsByAddress(key)),

    async read(request, client) {
      const subjects: Record<string, string | null> = Object.create(null);
      for (const { dimension, key } of keys) {
        const value = await key(request, client.address);
        const subject = subjectText(value);
        if (subject === null) throw invalidKey(owner, dimension, value);
        if (subject !== undefined) subjects[dimension] = subject;
        else if (countsByAddress(key)) return withoutAddress(owner, client);
        else if (missing === "skip") subjects[dimension] = null;
        else if (missing === "reject") return refuseMissing(dimension);
        else {
          // The address counts in a bucket that no key has.
          const { address } = client;
          if (!address) return withoutAddress(owner, client);
          subjects[dimension] = subjectText(kindSubject("ip", addressSubject(address))) as string;
        }
      }
      return subjects;
    },
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

function withoutAddress(owner: string, client: Client): Verdict {
  if (client.hasLeft()) return { kind: "left" };
  throw new HeadgateError(
    "HEADGATE_NO_ADDRESS",
    `${owner}: a request has no client address, as over a unix socket; let the framework trust the proxy in front, or give a key of your own`,
  );
}

function invalidKey(owner: string, dimension: string, value: unknown): HeadgateError {
  return new HeadgateError(
    "HEADGATE_INVALID_KEY",
    `${owner}: the key of ${formatReceived(dimension)} must be a string, got ${formatKind(value)}`,
    { cause: value },
  );
}
