import { setImmediate } from "node:timers/promises";
import type { Cost } from "../cost.ts";
import { formatKind, HeadgateError } from "../errors.ts";
import type { Unjudged } from "./request-state.ts";
import { watchResponse } from "./response/response-end.ts";
import type { Warn } from "./warn.ts";

/** What a `count` function returns for a request: whether it counts, or the units that it cost. */
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
 * Watches a request's response, and settles what the request was charged when it is over. `decided` settles when the limiter has
 * been asked. What is not answered whole stays charged, and so does what cannot be settled.
 */
export type Count<Request> = (
  decided: Promise<unknown>,
  request: Request,
  reply: unknown,
  response: object,
) => void;

/**
 * `take` finds what was decided of a request and no `count` has judged. `keeps`: whether limits block by what is kept. Undefined where
 * all answers count, and none of them can block.
 */
export function createCount<Request extends object>(
  option: CountOption<Request, never> | undefined,
  take: (request: Request) => Unjudged | undefined,
  keeps: boolean,
  warn: Warn,
): Count<Request> | undefined {
  const isAll = countsAll(option);
  if (isAll && !keeps) return undefined;

  async function settleAtEnd(
    decided: Promise<unknown>,
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
      status === undefined || isAll ? undefined : await judge(status, cost, request, reply);
    // The charge is kept at once, so that a client that delays its answer delays no block; but it is given back only if the whole
    // answer was sent.
    const isKept = units === undefined || (givesBack(units, cost) && !(await isSent(response)));
    await (isKept ? own.keep() : own.settle(units));
  }

  /** The units to settle; undefined to keep the charge. */
  async function judge(
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
      return unitsOf(result, cost);
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
function unitsOf(result: unknown, cost: Cost): number | undefined {
  if (typeof result === "boolean") return result ? undefined : 0;
  if (typeof cost !== "number") {
    throw new HeadgateError(
      "HEADGATE_COUNT_FAILED",
      `count must return true or false of a request with a cost by name, got ${formatKind(result)}`,
    );
  }
  if (Number.isSafeInteger(result) && (result as number) >= 0) return result as number;
  throw new HeadgateError(
    "HEADGATE_COUNT_FAILED",
    `count must return true, false or a whole number from 0, got ${formatKind(result)}`,
  );
}

function givesBack(units: number, cost: Cost): boolean {
  return units === 0 || (typeof cost === "number" && units < cost);
}

/** Resolves with the status of an answer when it has been ended; with undefined if its client left before. */
function endedWith(response: object): Promise<number | undefined> {
  return new Promise((resolve) => {
    watchResponse(response, { onEnded: resolve, onLeft: () => resolve(undefined) });
  });
}

/** Resolves with whether the whole answer was sent, when that is known. */
function isSent(response: object): Promise<boolean> {
  return new Promise((resolve) => {
    watchResponse(response, { onSent: () => resolve(true), onLeft: () => resolve(false) });
  });
}
