import type { ReplyWithRaw, Verdict } from "./apply-verdict.ts";
import { mirrorHeaders } from "./apply-verdict.ts";
import type { Header } from "./headers.ts";
import { watchResponse } from "./response-end.ts";
import type { Warn } from "./warn.ts";
import { toError } from "./warn.ts";

/** A stream that is piped into a response. */
interface PipedSource {
  once(event: "error", listener: (reason: unknown) => void): unknown;
  once(event: "close", listener: () => void): unknown;
  listenerCount(event: "error"): number;
}

type Method = (...args: unknown[]) => unknown;

/** The members of Node's response that are used here: of HTTP/1.1, or of HTTP/2's compatibility API. */
export interface NodeResponse {
  statusCode: number;
  readonly headersSent: boolean;
  getHeaders(): Readonly<Record<string, unknown>>;
  on(event: "pipe" | "unpipe", listener: (source: PipedSource) => void): unknown;
  destroy(): unknown;
}

/** Its methods that throw once the headers have been sent. */
const HEAD_METHODS = ["setHeader", "setHeaders", "appendHeader", "removeHeader"];

/** The headers that describe a body, or redirect: those of an abandoned response must not mix with those of another one. */
export const BODY_HEADERS: readonly string[] = [
  "content-length",
  "content-encoding",
  "content-range",
  "content-disposition",
  "etag",
  "last-modified",
  "location",
];

/** Headers that only denials have. */
export const DENIAL_HEADERS: readonly string[] = ["Retry-After", "Cache-Control"];

/** The status and the headers of a response, with names in lower case. */
export interface Head {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** The error that prevented a response. */
export interface Failure {
  readonly reason: unknown;
}

/**
 * The response of a denied request while the application may respond. Tracks whether a response has begun, even before its
 * first byte. Drops writes after its end, where Node would throw or end the process.
 */
export class DeniedResponse {
  readonly #response: NodeResponse;
  readonly #methods: Record<string, Method>;
  readonly #onLate: (error: unknown) => void;
  /** Whether anything was written, or handed to something that will write it. */
  #hasBegun = false;
  #isEnded = false;
  #isClosed = false;
  /** The status and headers to send, even if others are set in the meantime. */
  #lockedHead: Head | undefined;
  /** How many pending sources may still respond: templates, files, pipes. */
  #pending = 0;
  #failure: Failure | undefined;
  #wake: (() => void) | undefined;
  /** Whether `waitForResponse` has stopped waiting for a response to begin. */
  #isSettled = false;
  /** Functions to call when a source is unpiped. */
  readonly #unpipeListeners = new WeakMap<PipedSource, () => void>();

  /**
   * `onLate` is called with errors that were thrown too late. For a late write it is called with an error whose stack shows the
   * writer. `onClose` is called when the response has been sent or its client has disconnected.
   */
  constructor(response: NodeResponse, onLate: (error: unknown) => void, onClose: () => void) {
    this.#response = response;
    this.#methods = response as unknown as Record<string, Method>;
    this.#onLate = onLate;
    for (const name of HEAD_METHODS) {
      this.#wrap(name, (call, args) => (response.headersSent ? this.#drop(args) : call(...args)));
    }
    this.#wrap("writeHead", (call, args) => {
      if (response.headersSent) return this.#drop(args);
      return call(
        ...(this.#lockedHead === undefined ? args : this.#headArguments(this.#lockedHead, args)),
      );
    });
    this.#wrap("write", (call, args) => {
      if (this.#isTooLate) {
        this.#drop(args);
        return true;
      }
      return this.begin(() => call(...args));
    });
    this.#wrap("end", (call, args) => {
      if (this.#isTooLate) return this.#drop(args);
      // In HTTP/2 this writes synchronously.
      const result = this.begin(() => call(...args));
      this.#isEnded = true;
      // Middleware may hold the response back, for example until a session is saved.
      if (!response.headersSent) this.lockHead(response.statusCode, response.getHeaders());
      return result;
    });
    response.on("pipe", (source) => this.#trackSource(source));
    const close = (): void => {
      this.#isClosed = true;
      onClose();
    };
    watchResponse(response, { onSent: close, onDisconnected: close });
    response.on("unpipe", (source) => this.#unpipeListeners.get(source)?.());
  }

  /** Whether a response has begun. */
  get hasBegun(): boolean {
    return this.#hasBegun || this.#response.headersSent;
  }

  /** Whether the result of `onDenied` allows the request; not if its client has disconnected. */
  isAllowedBy(result: unknown): boolean {
    return result === "allow" && !this.#isClosed;
  }

  /** Makes a call that begins a response, unless it throws. */
  begin<T>(call: () => T): T {
    const result = call();
    this.#hasBegun = true;
    this.#wake?.();
    return result;
  }

  /** Records that something may still respond, or end a response that has begun. Call the returned function when it is done. */
  addPending(): (failure?: Failure) => void {
    this.#pending += 1;
    let isOver = false;
    return (failure) => {
      if (isOver) return;
      isOver = true;
      this.#pending -= 1;
      if (failure !== undefined && this.#isSettled) this.abort(failure.reason);
      else this.#failure ??= failure;
      this.#wake?.();
    };
  }

  /** Resolves when a response has begun, or when nothing pending may respond any more. Rejects with an error that came before that. */
  async waitForResponse(): Promise<void> {
    while (!this.#hasBegun && this.#pending > 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#isSettled = true;
    if (this.#failure !== undefined) throw this.#failure.reason;
  }

  /** Ensures that the response is sent with this status and these headers, even if others are set later. */
  lockHead(status: number, headers: Head["headers"]): void {
    this.#lockedHead = { status, headers };
  }

  /** Allows another response in place of a held one that failed. */
  unlockHead(): void {
    this.#lockedHead = undefined;
  }

  /** Reports a write or an error after the response. */
  reportLate(error: unknown = new Error("the response had already ended")): void {
    this.#onLate(error);
  }

  /**
   * Reports an error after a response has begun. If nothing will end that response, closes it, so that the client does not
   * wait for the rest.
   */
  abort(reason: unknown): void {
    this.reportLate(reason);
    if (!this.#isEnded && this.#pending === 0) this.#response.destroy();
  }

  /** Whether a write now would be too late: a response has ended, or is held back. */
  get #isTooLate(): boolean {
    return this.#isEnded || (this.#lockedHead !== undefined && !this.#response.headersSent);
  }

  #wrap(name: string, around: (call: Method, args: unknown[]) => unknown): void {
    const method = this.#methods[name];
    if (method === undefined) return;
    const call: Method = (...args) => method.apply(this.#response, args);
    this.#methods[name] = (...args) => around(call, args);
  }

  /** Reports a call instead of making it. */
  #drop(args: readonly unknown[]): NodeResponse {
    const callback = args.findLast((arg) => typeof arg === "function");
    if (callback !== undefined) process.nextTick(callback as () => void);
    this.reportLate();
    return this.#response;
  }

  /** The arguments of `writeHead` for a response that was held back. */
  #headArguments({ status, headers }: Head, [, ...rest]: readonly unknown[]): unknown[] {
    for (const name of BODY_HEADERS) {
      if (!Object.hasOwn(headers, name)) this.#methods["removeHeader"]?.(name);
    }
    for (const [name, value] of Object.entries(headers)) this.#methods["setHeader"]?.(name, value);
    return [status, ...rest];
  }

  /** If a source fails without a listener, Node would end the process. */
  #trackSource(source: PipedSource): void {
    const over = this.addPending();
    source.once("error", (reason) =>
      over(source.listenerCount("error") > 0 ? undefined : { reason }),
    );
    source.once("close", () => over());
    this.#unpipeListeners.set(source, over);
  }
}

/**
 * Calls `onDenied` of the application. Resolves with its result once everything that it started has responded or ended. Rejects
 * with its error, unless a response is in progress: then the error is reported.
 */
export async function runOnDenied(
  response: DeniedResponse,
  onDenied: () => unknown,
): Promise<unknown> {
  let result: unknown;
  let failure: Failure | undefined;
  try {
    result = await onDenied();
  } catch (reason) {
    failure = { reason };
  }
  try {
    await response.waitForResponse();
  } catch (reason) {
    failure ??= { reason };
  }
  if (failure === undefined) return result;
  if (!response.hasBegun) throw failure.reason;
  response.abort(failure.reason);
  return undefined;
}

/** A framework's reply to a denied request. */
export interface DenialReply {
  readonly node: NodeResponse;
  /** The reply, if it has headers of its own in addition to those of Node's response. */
  readonly withRaw?: ReplyWithRaw | undefined;
  getHeader(name: string): unknown;
  setHeaders(headers: readonly Header[]): void;
  /**
   * Reports responses to `response` that Node's own does not show at once. The returned function is called if the request
   * continues, or gets the framework's response to an error.
   */
  watch(response: DeniedResponse): () => void;
  /** Whether the framework has responded in a way that `response` does not know. */
  isSent?(): boolean;
}

/** How a denial ended: `onDenied` allowed it, something has responded, or Headgate must respond in view of the returned value. */
export type DenialOutcome =
  | { readonly kind: "allowed" | "answered" }
  | { readonly kind: "denied"; readonly returned: unknown };

/**
 * Sets the status and the headers of a denial, and calls `onDenied` of the application. Rejects with the error for the
 * framework's error handler. `request` names the application that is warned of late responses.
 */
export async function handleDenial(
  reply: DenialReply,
  onDenied: () => unknown,
  { headers, rejection, recordOutcome }: Verdict & { readonly kind: "denied" },
  warn: Warn,
  request: object,
): Promise<DenialOutcome> {
  const { node, withRaw } = reply;
  const before = DENIAL_HEADERS.map((name) => [name, reply.getHeader(name) as string] as const);
  reply.setHeaders(headers);
  // Not with a method of the framework: a redirect without its own status would use it as the application's choice.
  node.statusCode = rejection.status;
  const mirrored = withRaw && mirrorHeaders(withRaw, headers);
  const onLate = (error: unknown): void =>
    warn("HEADGATE_RESPONSE_ALREADY_SENT", LATE_RESPONSE, request, error);
  const response = new DeniedResponse(node, onLate, () => recordOutcome?.(false));
  const stopWatching = reply.watch(response);
  let returned: unknown;
  try {
    returned = await runOnDenied(response, onDenied);
  } catch (error) {
    stopWatching();
    // A bug in onDenied is an error of status 500. The headers stay: they still say how long to wait.
    node.statusCode = 200;
    mirrored?.copyBack();
    recordOutcome?.(false);
    throw toError(error);
  }
  const isAnswered = response.hasBegun || reply.isSent?.() === true;
  const isAllowed = !isAnswered && response.isAllowedBy(returned);
  recordOutcome?.(isAllowed);
  if (isAnswered) return { kind: "answered" };
  if (!isAllowed) return { kind: "denied", returned };
  stopWatching();
  node.statusCode = 200;
  reply.setHeaders(before);
  mirrored?.restore();
  return { kind: "allowed" };
}

const LATE_RESPONSE =
  "onDenied, or something it called, responded or threw after the denied request had already got a response; the late response was dropped. Respond before onDenied returns, or before its promise settles";
