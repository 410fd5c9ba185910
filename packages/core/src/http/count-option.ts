import { setImmediate } from "node:timers/promises";
import type { Cost } from "../common/cost.ts";
import { formatKind, HeadgateError } from "../common/errors.ts";
import type { Awaitable } from "../common/type-guards.ts";
import type { Verdict } from "./apply-verdict.ts";
import type { UnsettledDecision } from "./request-decision.ts";
import { waitForStatus, waitUntilSent } from "./response-end.ts";
import type { Warn } from "./warn.ts";

/** The result of a `count` function: whether the request counts, or the units that it cost. */
export type CountResult = boolean | number;

/**
 * Which responses count against a limit: all, those with a status from 400, those below 400, or as decided by a function when
 * the response ends.
 */
export type CountOption<Request, Reply> =
  | "all"
  | "failed"
  | "succeeded"
  | ((request: Request, reply: Reply) => CountResult | Promise<CountResult>);

/** Whether every request counts, regardless of its response. */
export function countsAll(option: CountOption<never, never> | undefined): boolean {
  return option === undefined || option === "all";
}

/**
 * Watches a request's response, and settles the charge when it ends. `decided` settles once the limiter has decided. The
 * charge stays if the response is not sent completely, or if settling fails.
 */
export type ResponseCounter<Request> = (
  decided: Awaitable<Verdict>,
  request: Request,
  reply: unknown,
  response: object,
) => void;

/**
 * `takeUnsettled` finds an unsettled decision on the request. `blocksOnSettle`: whether limits block on confirmed charges.
 * Returns undefined if all responses count and no limit blocks on confirmed charges.
 */
export function createResponseCounter<Request extends object>(
  option: CountOption<Request, never> | undefined,
  takeUnsettled: (request: Request) => UnsettledDecision | undefined,
  blocksOnSettle: boolean,
  warn: Warn,
): ResponseCounter<Request> | undefined {
  const isAll = countsAll(option);
  if (isAll && !blocksOnSettle) return undefined;

  async function settleAtEnd(
    decided: Awaitable<Verdict>,
    request: Request,
    reply: unknown,
    response: object,
  ): Promise<void> {
    const status = await waitForStatus(response);
    await decided;
    // A `finish` handler may settle manually first.
    if (status !== undefined) await setImmediate();
    const own = status === undefined && !blocksOnSettle ? undefined : takeUnsettled(request);
    if (!own?.decision.wouldAllow) return;
    const { cost } = own.decision;
    const units =
      status === undefined || isAll ? undefined : await countUnits(status, cost, request, reply);
    // A charge is confirmed at once, so that a client cannot delay a block by delaying its response; but it is refunded only if
    // the whole response was sent.
    const isLess = units === 0 || (typeof cost === "number" && (units ?? cost) < cost);
    const isKept = units === undefined || (isLess && !(await waitUntilSent(response)));
    await (isKept ? own.confirm() : own.settle(units));
  }

  /** The units to settle; undefined to leave the charge. */
  async function countUnits(
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
      return readCountResult(result, cost);
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
    // The response has ended, so an error cannot be reported to the client. If this fails, the charge stays.
    settleAtEnd(decided, request, reply, response).catch(() => {});
  };
}

/** The units to settle; undefined to leave the charge. Throws `HEADGATE_COUNT_FAILED`. */
function readCountResult(result: unknown, cost: Cost): number | undefined {
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
