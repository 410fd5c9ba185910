import type { Decision } from "@headgate/core";
import type { Failure, Verdict, Warn } from "@headgate/core/http";
import { BODY_HEADERS, DeniedResponse, letAnswer } from "@headgate/core/http";
import type { Request, Response } from "express";
import { reject } from "./reject.ts";

/** Runs for a denied request, with status, headers and `Retry-After` already set. Headgate answers if it has not when it settles. */
export type OnDenied = (req: Request, res: Response, decision: Decision) => unknown;

/** Lets `onDenied` answer a denied request, and answers if it did not. Rejects with what goes to the error handler. */
export async function answerDenied(
  onDenied: OnDenied,
  req: Request,
  res: Response,
  { decision, rejection }: Verdict & { readonly kind: "denied" },
  warn: Warn,
): Promise<void> {
  const response = new DeniedResponse(res, (error) =>
    warn(
      "HEADGATE_LATE_ANSWER",
      "onDenied, or what it called, answered or threw after the denied request had been answered; what came late was dropped. Answer before onDenied returns, or before its promise settles",
      req,
      error,
    ),
  );
  watchFiles(res, response);
  watchTemplates(res, response);
  try {
    await letAnswer(response, () => onDenied(req, res, decision));
  } catch (error) {
    // A bug in it must not look like a denial.
    res.statusCode = 200;
    res.removeHeader("Retry-After");
    throw error;
  }
  if (response.isUnderWay) return;
  for (const name of BODY_HEADERS) res.removeHeader(name);
  reject(res, rejection);
}

type Callback = (error: unknown, text: string) => unknown;

/**
 * `res.render` answers some time later. What goes wrong comes back here: Express would hand it to the next error handler, as
 * one that looks like a denial.
 */
function watchTemplates(res: Response, response: DeniedResponse): void {
  const render = res.render as (view: string, options: object, done: Callback) => void;
  res.render = (view: string, ...rest: unknown[]) => {
    const callback = rest.find((one) => typeof one === "function") as Callback | undefined;
    const options = rest.find((one) => typeof one === "object" && one !== null) ?? {};
    const over = response.expect();
    const done: Callback = (error, text) => {
      if (callback !== undefined) void settle(over, () => callback(error, text));
      else if (error) over({ reason: error });
      else void settle(over, () => res.send(text));
    };
    start(over, () => render.call(res, view, options, done));
  };
}

type SendFile = (path: string, options: object, done: (error?: unknown) => void) => void;

/**
 * So do `res.sendFile` and `res.download`, which calls it. Without this Express would let a denied request go on where the path
 * is a directory's.
 */
function watchFiles(res: Response, response: DeniedResponse): void {
  const methods = res as unknown as Record<string, SendFile | undefined>;
  for (const name of ["sendFile", "sendfile"]) {
    const sendFile = methods[name];
    if (sendFile === undefined) continue;
    methods[name] = (path: string, ...rest: unknown[]) => {
      const callback = rest.find((one) => typeof one === "function") as Callback | undefined;
      const options = rest.find((one) => typeof one === "object" && one !== null) ?? {};
      const over = response.expect();
      const done = (error?: unknown) => {
        if (callback !== undefined) void settle(over, () => callback(error, ""));
        else over(error ? { reason: error } : undefined);
      };
      start(over, () => sendFile.call(res, path, options, done));
    };
  }
}

/** Begins something that calls back; what it throws at once is the caller's. */
function start(over: (failure?: Failure) => void, begin: () => void): void {
  try {
    begin();
  } catch (error) {
    over();
    throw error;
  }
}

/** Runs a callback of the application's, which is over when it has returned and its promise has settled. */
async function settle(over: (failure?: Failure) => void, callback: () => unknown): Promise<void> {
  try {
    await callback();
    over();
  } catch (reason) {
    over({ reason });
  }
}
