import { setImmediate } from "node:timers/promises";
import type { Awaitable } from "../base/awaitable.ts";
import type { Cost } from "../base/cost.ts";
import { formatKind, HeadgateError } from "../base/errors.ts";
import { endedWith, isSent } from "./follow-response.ts";
import type { UnsettledDecision } from "./request-decision.ts";
import type { Verdict } from "./verdict.ts";
import type { Warn } from "./warn.ts";

/** The result of a `count` function: whether the request counts, or the units that it cost. */
export type CountResult = boolean | number;

/** Which answers count against a limit: all, those with a status from 400, those below 400, or as a function says when an answer ends. */
export type CountOption<Request, Reply> =
  | "all"
  | "failed"
  | "succeeded"
  | ((request: Request, reply: Reply) => CountResult | Promise<CountResult>);

/** Whether a request counts whatever its answer is. */
export function countsAll(option: CountOption<never, never> | undefined): boolean {
  return option === undefined || option === "all";
}

/**
 * Watches a request's response, and settles the request's charge when it is over. `decided` settles when the limiter has
 * been asked. The charge stays if the answer is not sent whole, or cannot be settled.
 */
export type Count<Request> = (
  decided: Awaitable<Verdict>,
  request: Request,
  reply: unknown,
  response: object,
) => void;

/**
 * `take` finds the decision on a request that is not settled yet. `keeps`: whether limits block by kept charges. Undefined
 * if all answers count, and none of them can block.
 */
export function createCount<Request extends object>(
  option: CountOption<Request, never> | undefined,
  take: (request: Request) => UnsettledDecision | undefined,
  keeps: boolean,
  warn: Warn,
): Count<Request> | undefined {
  const isAll = countsAll(option);
  if (isAll && !keeps) return undefined;

  async function settleAtEnd(
    decided: Awaitable<Verdict>,
    request: Request,
    reply: unknown,
    response: object,
  ): Promise<void> {
    const status = await endedWith(response);
    await decided;
    // Handlers of `finish` may settle by hand first.
    if (status !== undefined) await setImmediate();
    const own = status === undefined && !keeps ? undefined : take(request);
    if (!own?.decision.wouldAllow) return;
    const { cost } = own.decision;
    const units =
      status === undefined || isAll ? undefined : await unitsOf(status, cost, request, reply);
    // The charge is kept at once, so that a client that delays its answer delays no block; but it is given back only if
    // the whole answer was sent.
    const isLess = units === 0 || (typeof cost === "number" && (units ?? cost) < cost);
    const isKept = units === undefined || (isLess && !(await isSent(response)));
    await (isKept ? own.keep() : own.settle(units));
  }

  /** The units to settle; undefined to keep the charge. */
  async function unitsOf(
    status: number,
    cost: Cost,
    request: Request,
    reply: unknown,
  ): Promise<number | undefined> {
    try {
      const result =
        typeof option === "function"
          ? await option(request, reply as never)
          : status >= 400 === (option === "failed");
      return readResult(result, cost);
    } catch (error) {
      warn(
        "HEADGATE_COUNT_FAILED",
        "count threw, or returned neither a boolean nor a whole number of at least 0; the request stays charged",
        request,
        error,
      );
      return undefined;
    }
  }

  return (decided, request, reply, response) => {
    // The answer was ended, so no error can be reported. A failure leaves the charge.
    settleAtEnd(decided, request, reply, response).catch(() => {});
  };
}

/** The units to settle; undefined to keep the charge. Throws `HEADGATE_COUNT_FAILED`. */
function readResult(result: unknown, cost: Cost): number | undefined {
  if (typeof result === "boolean") return result ? undefined : 0;
  const isByName = typeof cost !== "number";
  if (!isByName && Number.isSafeInteger(result) && (result as number) >= 0) return result as number;
  const rule = isByName
    ? "true or false of a request with a cost by name"
    : "true, false or a whole number from 0";
  throw new HeadgateError(
    "HEADGATE_COUNT_FAILED",
    `count must return ${rule}, got ${formatKind(result)}`,
  );
}
