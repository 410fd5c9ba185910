import type { Limiter } from "@headgate/core";
import type { Admission, Answer, Refusal } from "./attempt.ts";
import { MAX_BODY_BYTES, MAX_BODY_MS } from "./dialects/read-body.ts";
import type { ReadHead } from "./dialects/read-head.ts";
import type { LimitInterceptorOptions, OutgoingRequest } from "./fetch-options.ts";
import type { OutgoingCall } from "./outgoing-call.ts";
import { OutgoingCalls } from "./outgoing-calls.ts";
import { isReusable } from "./outgoing-request.ts";
import { readOptions } from "./read-options.ts";
import type {
  Controller,
  DispatchOptions,
  Handler,
  HeaderRecord,
  LegacyHandler,
} from "./undici-handler.ts";
import { describeRequest, headersOf, originOf, toHandler } from "./undici-handler.ts";

// biome-ignore lint/suspicious/noExplicitAny: the types of undici are not needed to install this package.
type Dispatch = (options: any, handler: any) => boolean;

/** An interceptor for `dispatcher.compose` of undici 7. */
export type LimitInterceptor = ((dispatch: Dispatch) => Dispatch) & {
  /** The limiter of the requests: to close it, to block a subject, to look at what is left. */
  readonly limiter: Limiter;
};

/**
 * Returns an interceptor for undici that sends requests as fast as a limiter allows, like `limitFetch`:
 * `new Agent().compose(limitInterceptor(options))`. Throws `HEADGATE_INVALID_OPTION`, and the errors of `createLimiter`.
 */
export function limitInterceptor<const Dimension extends string = string>(
  options: LimitInterceptorOptions<Dimension>,
): LimitInterceptor {
  const settings = readOptions("limitInterceptor", options as LimitInterceptorOptions);
  const calls = new OutgoingCalls(settings);
  const { settle } = options;
  const intercept =
    (dispatch: Dispatch): Dispatch =>
    (sent: DispatchOptions, handler: Handler | LegacyHandler) => {
      void new Exchange(calls, { dispatch, sent, handler: toHandler(handler), settle }).run();
      return true;
    };
  return Object.assign(intercept, { limiter: settings.limiter });
}

interface ExchangeParts {
  readonly dispatch: Dispatch;
  readonly sent: DispatchOptions;
  readonly handler: Handler;
  readonly settle: LimitInterceptorOptions["settle"];
}

/** A response that is kept back until it is known whether the request is sent again. */
interface KeptResponse {
  readonly status: number;
  readonly headers: HeaderRecord;
  readonly statusMessage: string | undefined;
  readonly chunks: Buffer[];
  size: number;
  trailers: HeaderRecord;
  /** What it means for the request: known by its head, or at the end of its body. */
  refusal: Promise<Refusal | undefined> | undefined;
}

/** How an attempt ended: its response was passed on, or was kept. */
type AttemptEnd = KeptResponse | undefined;

/** A request, its attempts, and the handler that gets the response of the last one. */
class Exchange implements Controller {
  readonly #calls: OutgoingCalls;
  readonly #parts: ExchangeParts;
  readonly #request: OutgoingRequest;
  /** Ends the wait when the handler aborts. */
  readonly #wait = new AbortController();
  /** The controller of the attempt that is under way. */
  #inner: Controller | undefined;
  #idle: NodeJS.Timeout | undefined;
  #release: (() => unknown) | undefined;
  #isRedirected = false;
  aborted = false;
  reason: Error | null = null;

  constructor(calls: OutgoingCalls, parts: ExchangeParts) {
    this.#calls = calls;
    this.#parts = parts;
    this.#request = describeRequest(parts.sent);
  }

  get paused(): boolean {
    return this.#inner?.paused ?? false;
  }

  get rawHeaders(): unknown {
    return this.#inner?.rawHeaders;
  }

  get rawTrailers(): unknown {
    return this.#inner?.rawTrailers;
  }

  abort(reason: Error): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    this.#wait.abort(reason);
    this.#inner?.abort(reason);
  }

  /** A response that nobody reads for the `ttl` of a slot no longer holds it. */
  pause(): void {
    this.#inner?.pause();
    const { slotTtlMs } = this.#calls.settings;
    clearTimeout(this.#idle);
    if (slotTtlMs !== undefined)
      this.#idle = setTimeout(() => this.#release?.(), slotTtlMs).unref();
  }

  resume(): void {
    clearTimeout(this.#idle);
    this.#inner?.resume();
  }

  /** Makes the attempts. Never rejects: errors go to the handler. */
  async run(): Promise<void> {
    const { handler, sent } = this.#parts;
    let last: KeptResponse | undefined;
    try {
      // The handler can abort from now on.
      handler.onRequestStart?.(this, undefined);
      this.#wait.signal.throwIfAborted();
      const call = await this.#calls.begin(this.#request, originOf(sent) ?? "");
      for (;;) {
        const admission = await call.admit(this.#wait.signal);
        if (admission === undefined) break;
        last = await this.#attempt(call, admission);
        if (last === undefined) return;
        const refusal = await last.refusal;
        await admission.release();
        this.#wait.signal.throwIfAborted();
        if (refusal === undefined || !isReusable(sent.body) || !call.retries(refusal)) break;
      }
      this.#deliver(last as KeptResponse);
    } catch (error) {
      handler.onResponseError?.(this, error as Error);
    }
  }

  /** Sends once. Resolves at the end of the response: with the response if it was kept back. */
  #attempt(call: OutgoingCall, admission: Admission): Promise<AttemptEnd> {
    const { dispatch, sent, handler } = this.#parts;
    let kept: KeptResponse | undefined;
    let late: NodeJS.Timeout | undefined;
    this.#release = admission.release;
    const learn = (response: KeptResponse, hasBody: boolean, head?: ReadHead): void => {
      const answer = { ...answerOf(response, hasBody), isRedirected: this.#isRedirected };
      response.refusal = call.onAnswer(admission, answer, head);
      this.#settle(admission, response.status, response.headers);
    };
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clearTimeout(this.#idle);
        clearTimeout(late);
        void admission.release();
      };
      /** Passes a response on that is too long to keep, or takes too long; its request is not sent again. */
      const giveUp = (response: KeptResponse): void => {
        clearTimeout(late);
        kept = undefined;
        if (response.refusal === undefined) learn(response, false);
        this.#pass(response);
      };
      const attempt: Handler = {
        onRequestStart: (controller, context) => {
          this.#inner = controller;
          this.#isRedirected = isRedirected(context);
          if (this.aborted) controller.abort(this.reason as Error);
        },
        onRequestUpgrade: (_, ...upgraded) => {
          end();
          resolve(undefined);
          handler.onRequestUpgrade?.(this, ...upgraded);
        },
        onResponseStart: (_, status, headers, statusMessage) => {
          kept = undefined;
          if (status < 200) {
            handler.onResponseStart?.(this, status, headers, statusMessage);
            return;
          }
          const response: KeptResponse = {
            status,
            headers,
            statusMessage,
            chunks: [],
            size: 0,
            trailers: {},
            refusal: undefined,
          };
          const head = call.readHead(answerOf(response));
          if (!head.needsBody) learn(response, false, head);
          if (!head.needsBody && !head.isRefused) {
            this.#pass(response);
            return;
          }
          kept = response;
          late = setTimeout(() => {
            try {
              giveUp(response);
            } catch (error) {
              this.abort(error as Error);
            }
          }, MAX_BODY_MS);
        },
        onResponseData: (_, chunk) => {
          if (kept === undefined) {
            handler.onResponseData?.(this, chunk);
            return;
          }
          kept.chunks.push(chunk);
          kept.size += chunk.length;
          if (kept.size > MAX_BODY_BYTES) giveUp(kept);
        },
        onResponseEnd: (_, trailers) => {
          clearTimeout(late);
          if (kept === undefined) {
            end();
            handler.onResponseEnd?.(this, trailers);
          } else {
            kept.trailers = trailers;
            if (kept.refusal === undefined) learn(kept, true);
          }
          resolve(kept);
        },
        onResponseError: (_, error) => {
          end();
          reject(error);
        },
      };
      try {
        dispatch(sent, attempt);
      } catch (error) {
        end();
        reject(error);
      }
    });
  }

  #settle({ decision }: Admission, status: number, headers: HeaderRecord): void {
    const { settle } = this.#parts;
    if (settle === undefined) return;
    this.#calls.settle(decision, () => settle({ status, headers: headersOf(headers) }));
  }

  /** Passes on the beginning of a response that was kept. */
  #pass({ status, headers, statusMessage, chunks }: KeptResponse): void {
    const { handler } = this.#parts;
    handler.onResponseStart?.(this, status, headers, statusMessage);
    for (const chunk of chunks) handler.onResponseData?.(this, chunk);
  }

  #deliver(response: KeptResponse): void {
    this.#pass(response);
    this.#parts.handler.onResponseEnd?.(this, response.trailers);
  }
}

/** Whether undici's redirect interceptor has followed a redirect: its context lists the URLs of the request so far. */
function isRedirected(context: unknown): boolean {
  const { history } = (context ?? {}) as { readonly history?: readonly unknown[] | undefined };
  return (history?.length ?? 0) > 0;
}

/** A response as an answer, whose body can be read if it is there. */
function answerOf({ status, headers, chunks }: KeptResponse, hasBody = true): Answer {
  return {
    status,
    header: (name) => [headers[name]].flat().join(", ") || undefined,
    text: hasBody ? async () => Buffer.concat(chunks).toString() : undefined,
  };
}
