import type { Decision } from "../decision.ts";
import { formatKind, HeadgateError } from "../errors.ts";
import type { CostOptions, Limiter } from "../limiter/limiter.ts";
import { answerTo } from "./answer.ts";
import type { GuardLimiters } from "./guard-limiters.ts";
import type { GuardOptions } from "./guard-options.ts";
import { readHeadersOption } from "./headers.ts";
import { isPromiseLike } from "./is-promise-like.ts";
import type { HttpRequest } from "./key-function.ts";
import type { PolicyText } from "./policy-text.ts";
import { writePolicy } from "./policy-text.ts";
import type { Warn } from "./proxy-trust.ts";
import { createProxyTrustWatch } from "./proxy-trust.ts";
import type { SubjectReader } from "./read-subjects.ts";
import { createSubjectReader } from "./read-subjects.ts";
import { addDecision, forgetAsked, takeUnasked } from "./request-state.ts";
import { areSubjects, subjectsFor } from "./request-subjects.ts";
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

/** What is known of a limiter before anybody asks. */
interface Prepared<Request> {
  readonly reader: SubjectReader<Request>;
  readonly text: PolicyText;
}

function prepareGuard<Request extends HttpRequest>(
  owner: string,
  limiters: GuardLimiters,
  options: GuardOptions<Request>,
  warn: Warn,
): Guard<Request> {
  const headers = readHeadersOption(options.headers);
  const { missing = "ip", skip, cost = 1 } = options;
  const prepared = new Map<Limiter, Prepared<Request>>();
  for (const limiter of limiters.all) {
    const reader = createSubjectReader(owner, limiter, options.key, missing);
    prepared.set(limiter, { reader, text: writePolicy(limiter.limits) });
  }
  const usesAddress = [...prepared.values()].some(({ reader }) => reader.usesAddress);
  const watch = usesAddress ? createProxyTrustWatch(warn) : undefined;
  // What every request costs; one unit goes without saying.
  const fixed: CostOptions | undefined =
    typeof cost === "number" && cost !== 1 ? { cost } : undefined;

  async function check(request: Request, client: Client): Promise<Verdict> {
    watch?.check(request, client.address, client.peer);
    if (skip !== undefined) {
      const skipped = skip(request);
      if (isSkipped(owner, isPromiseLike(skipped) ? await skipped : skipped)) return PASS;
    }
    const found = limiters.of(request);
    const limiter = isPromiseLike(found) ? await found : found;
    const { reader, text } = prepared.get(limiter) as Prepared<Request>;
    const read = reader.read(request, client);
    const subjects = isPromiseLike(read) ? await read : read;
    if (!areSubjects(subjects)) return subjects;
    let charge = fixed;
    if (typeof cost === "function") {
      const units: unknown = cost(request);
      charge = chargeOf(isPromiseLike(units) ? await units : units);
    }
    const unasked = takeUnasked(request, limiter);
    if (unasked === undefined) return PASS;
    const counted = subjectsFor(unasked, subjects);
    if (counted === undefined) return PASS;
    let decision: Decision;
    try {
      decision = await unasked.consume(counted, charge);
    } catch (error) {
      forgetAsked(request, unasked);
      throw error;
    }
    const told = {
      decision,
      headers,
      text: isWhole(decision, limiter, unasked) ? text : undefined,
    };
    return answerTo(addDecision(request, told, counted), Date.now());
  }

  return { check };
}

/** Whether a decision is of all the limits of a limiter, as they were described: not of its share of them, nor without those that lack a key. */
function isWhole(decision: Decision, limiter: Limiter, asked: Limiter): boolean {
  return (
    asked === limiter && !decision.degraded && decision.limits.length === limiter.limits.length
  );
}

function isSkipped(owner: string, skipped: unknown): boolean {
  if (skipped === true || skipped === false || skipped === undefined) return skipped === true;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `${owner}: skip must return true or false, got ${formatKind(skipped)}`,
  );
}

/** A cost function that returns nothing must not cost the default; the limiter judges the number. */
function chargeOf(units: unknown): CostOptions {
  return { cost: typeof units === "number" ? units : Number.NaN };
}
