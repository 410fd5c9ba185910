import type { Cost } from "../cost.ts";
import { formatKind, HeadgateError } from "../errors.ts";
import type { Unjudged } from "./request-state.ts";
import type { Warn } from "./warn.ts";

/** What a `count` function returns for a request: whether it counts, or the units that it cost. */
export type CountResult = boolean | number;

/** Which answers count against a limit: all, those with a status from 400, those below 400, or as a function says when an answer ends. */
export type CountOption<Request, Reply> =
  | "all"
  | "failed"
  | "succeeded"
  | ((request: Request, reply: Reply) => CountResult | Promise<CountResult>);

/** What is used of a response of Node's: one of HTTP/1.1, or of HTTP/2's compatibility API, which has a stream. */
interface Response {
  readonly statusCode: number;
  readonly socket?: Socket | null | undefined;
  readonly stream?: Http2Stream | undefined;
  once(event: "close", listener: () => void): unknown;
  prependOnceListener(event: "finish", listener: () => void): unknown;
}

interface Socket {
  readonly destroyed?: boolean | undefined;
  readonly errored?: Error | null | undefined;
}

interface Http2Stream {
  readonly aborted: boolean;
  readonly writableFinished: boolean;
  readonly sentHeaders?: { readonly ":status"?: number | undefined } | undefined;
}

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
    response: Response,
  ): Promise<void> {
    const status = await statusSent(response);
    await decided;
    const own = status === undefined && !keeps ? undefined : take(request);
    if (!own?.decision.wouldAllow) return;
    const units =
      status === undefined || isAll
        ? undefined
        : await judge(status, own.decision.cost, request, reply);
    if (units === undefined) await own.keep();
    else await own.settle(units);
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
    // The answer was sent, so nobody gets an error, and what failed stays charged.
    settleAtEnd(decided, request, reply, response as Response).catch(() => {});
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

/** One watch of each response, however many limiters its request meets: Node takes many listeners for a leak. */
const watches = new WeakMap<Response, Promise<number | undefined>>();

/** Resolves when a response is over: with its status, or undefined where its client left before all of it was sent. */
function statusSent(response: Response): Promise<number | undefined> {
  const known = watches.get(response);
  if (known !== undefined) return known;
  const sent = new Promise<number | undefined>((resolve) => {
    // Before Node takes the connection off.
    response.prependOnceListener("finish", () => resolve(statusOf(response)));
    response.once("close", () => resolve(undefined));
  });
  watches.set(response, sent);
  return sent;
}

/**
 * Node emits `finish` also where the rest of an answer was dropped with its connection, and in HTTP/2 for every stream that ends.
 * There the status may have been sent by the stream itself.
 */
function statusOf({ statusCode, socket, stream }: Response): number | undefined {
  if (stream === undefined) return socket?.destroyed || socket?.errored ? undefined : statusCode;
  if (stream.aborted || !stream.writableFinished) return undefined;
  return stream.sentHeaders?.[":status"];
}
