import { formatKind, HeadgateError } from "../errors.ts";
import type { Limiter } from "../limiter/limiter.ts";
import { partsOf } from "../limiter/limiter.ts";
import { GLOBAL_DIMENSION } from "../policy.ts";
import { answerTo } from "./answer.ts";
import type { GuardLimiters } from "./guard-limiters.ts";
import type { GuardOptions } from "./guard-options.ts";
import { readHeadersOption } from "./headers.ts";
import type { HttpRequest } from "./key-function.ts";
import type { Warn } from "./proxy-trust.ts";
import { createProxyTrustWatch } from "./proxy-trust.ts";
import type { RequestSubjects, SubjectReader } from "./read-subjects.ts";
import { createSubjectReader } from "./read-subjects.ts";
import { addDecision, forgetAsked, takeUnasked } from "./request-state.ts";
import type { Client, Verdict } from "./verdict.ts";

/** Decides requests of one framework under one set of options. */
export interface Guard<Request> {
  /** Skip, key, cost, decision, in this order. Rejects with what the framework shall handle as an error. */
  check(request: Request, client: Client): Promise<Verdict>;
}

const PASS: Verdict = { kind: "pass" };

/**
 * Prepares the one path a request takes in HTTP. `owner` names it in errors. Throws `HEADGATE_INVALID_OPTION`, and then closes
 * the limiters, so that nothing keeps their names.
 */
export function createGuard<Request extends HttpRequest>(
  owner: string,
  limiters: GuardLimiters,
  options: GuardOptions<Request>,
  warn: Warn,
): Guard<Request> {
  try {
    return prepareGuard(owner, limiters, options, warn);
  } catch (error) {
    void limiters.close();
    throw error;
  }
}

function prepareGuard<Request extends HttpRequest>(
  owner: string,
  limiters: GuardLimiters,
  options: GuardOptions<Request>,
  warn: Warn,
): Guard<Request> {
  const headers = readHeadersOption(options.headers);
  const { missing = "ip", skip, cost = 1 } = options;
  const readers = new Map<Limiter, SubjectReader<Request>>();
  for (const limiter of limiters.all) {
    readers.set(limiter, createSubjectReader(owner, limiter, options.key, missing));
  }
  const usesAddress = [...readers.values()].some((reader) => reader.usesAddress);
  const watch = usesAddress ? createProxyTrustWatch(warn) : undefined;

  return {
    async check(request, client) {
      watch?.check(request, client.address, client.peer);
      if (skip !== undefined && isSkipped(owner, await skip(request))) return PASS;
      const limiter = await limiters.of(request);
      const subjects = await (readers.get(limiter) as SubjectReader<Request>).read(request, client);
      if (isVerdict(subjects)) return subjects;
      const units = typeof cost === "function" ? requireNumber(await cost(request)) : cost;
      const unasked = takeUnasked(request, limiter);
      if (unasked === undefined) return PASS;
      const counted = subjectsFor(unasked, subjects);
      if (counted === undefined) return PASS;
      try {
        const decision = await unasked.consume(counted, { cost: units });
        return answerTo(addDecision(request, { decision, headers }, counted), Date.now());
      } catch (error) {
        forgetAsked(request, unasked);
        throw error;
      }
    },
  };
}

function isSkipped(owner: string, skipped: unknown): boolean {
  if (skipped === true || skipped === false || skipped === undefined) return skipped === true;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `${owner}: skip must return true or false, got ${formatKind(skipped)}`,
  );
}

/** A cost function that returns nothing must not cost the default; the limiter judges the number. */
function requireNumber(cost: unknown): number {
  return typeof cost === "number" ? cost : Number.NaN;
}

/** The subjects of those dimensions that a limiter counts by; undefined when no limit is left to ask. */
function subjectsFor(limiter: Limiter, subjects: RequestSubjects): RequestSubjects | undefined {
  const counted: Record<string, string | null> = Object.create(null);
  let isCounted = false;
  for (const { dimension } of partsOf(limiter).counters.groups) {
    const subject = subjects[dimension];
    if (subject !== undefined) counted[dimension] = subject;
    isCounted ||= dimension === GLOBAL_DIMENSION || typeof subject === "string";
  }
  return isCounted ? counted : undefined;
}

/** Subjects have no prototype, so that no dimension's name can make them a verdict. */
function isVerdict(value: RequestSubjects | Verdict): value is Verdict {
  return Object.getPrototypeOf(value) !== null;
}
