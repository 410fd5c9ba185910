import type { Decision } from "@headgate/core";
import type { Verdict, Warn } from "@headgate/core/http";
import { sendRejection, setHeaders } from "@headgate/core/http";
import type { DeniedResponse, Failure } from "@headgate/core/internal-http";
import { BODY_HEADERS, handleDenial } from "@headgate/core/internal-http";
import type { Request, Response } from "express";

/**
 * Responds to a denied request, whose status, headers and `Retry-After` are already set. If it has not responded when it settles,
 * Headgate does, unless it returns or resolves `"allow"`: then the request continues, and costs nothing.
 */
export type OnDenied = (req: Request, res: Response, decision: Decision) => unknown;

/**
 * Calls `onDenied`, and responds if it did not. Resolves with whether the request continues. Rejects with the error for the error
 * handler.
 */
export async function respondToDenial(
  onDenied: OnDenied,
  req: Request,
  res: Response,
  verdict: Verdict & { readonly kind: "denied" },
  warn: Warn,
): Promise<boolean> {
  const reply = {
    node: res,
    getHeader: (name: string) => res.getHeader(name),
    setHeaders: setHeaders.bind(undefined, res),
    watch: (response: DeniedResponse) => watchMethods(req, res, response),
  };
  const call = () => onDenied(req, res, verdict.decision);
  const { kind } = await handleDenial(reply, call, verdict, warn, req);
  if (kind === "denied") {
    for (const name of BODY_HEADERS) res.removeHeader(name);
    sendRejection(res, verdict.rejection);
  }
  return kind === "allowed";
}

type Done = (failure?: Failure) => void;
type Callback = (error: unknown, text: string) => unknown;
type DeferredMethod = (path: string, options: object, done: Callback) => unknown;

/**
 * Watches the methods of a response that respond some time later. Once the returned function has been called, the error handler
 * responds, and further errors go to the next one, as usual.
 */
function watchMethods(req: Request, res: Response, response: DeniedResponse): () => void {
  const methods = res as unknown as Record<string, DeferredMethod | undefined>;
  let isStopped = false;

  // Express would pass it to the next error handler while onDenied may still respond, with the status of a denial.
  function fail(over: Done, reason: unknown): void {
    const isOfHandler = isStopped && !res.writableEnded;
    over(isOfHandler ? undefined : { reason });
    if (isOfHandler) req.next?.(reason);
  }

  /** `end` runs when a method has finished for which the application gave no callback. */
  function watch(name: string, end: (over: Done, ...args: Parameters<Callback>) => void): void {
    const method = methods[name];
    if (method === undefined) return;
    methods[name] = (path: string, ...rest: unknown[]) => {
      const callback = rest.find((one) => typeof one === "function") as Callback | undefined;
      const options = rest.find((one) => typeof one === "object") ?? {};
      const over = response.addPending();
      const done: Callback = (error, text) => {
        if (callback === undefined) end(over, error, text);
        else void runCallback(over, () => callback(error, text));
      };
      startCall(over, () => method.call(res, path, options, done));
    };
  }

  watch("render", (over, error, text) => {
    if (error) fail(over, error);
    else void runCallback(over, () => res.send(text));
  });
  // res.download calls it, too. Express would let a denied request continue if the path is a directory.
  for (const name of ["sendFile", "sendfile"]) {
    watch(name, (over, error) => (isFileError(error) ? fail(over, error) : over()));
  }
  return () => {
    isStopped = true;
  };
}

/** Whether an error came from the file, not from a client that disconnected. Express distinguishes them in the same way. */
function isFileError(error: unknown): boolean {
  const { code, syscall } = Object(error) as NodeJS.ErrnoException;
  return error !== undefined && code !== "ECONNABORTED" && syscall !== "write";
}

/** Calls a method that calls back later; an error that it throws synchronously goes to the caller. */
function startCall(over: Done, begin: () => void): void {
  try {
    begin();
  } catch (error) {
    over();
    throw error;
  }
}

/** Runs a callback of the application, and waits until its promise has settled. */
async function runCallback(over: Done, callback: () => unknown): Promise<void> {
  try {
    await callback();
    over();
  } catch (reason) {
    over({ reason });
  }
}
