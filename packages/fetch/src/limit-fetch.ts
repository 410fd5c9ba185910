import type { Limiter } from "@headgate/core";
import type { Admission, Answer } from "./attempt.ts";
import type { LimitFetchOptions, OutgoingRequest } from "./fetch-options.ts";
import type { OutgoingCall } from "./outgoing-call.ts";
import { OutgoingCalls } from "./outgoing-calls.ts";
import { isReusable, outgoingRequest } from "./outgoing-request.ts";
import { readOptions } from "./read-options.ts";
import { readClone, withBodyEnd } from "./response-body.ts";

/** What `fetch` takes as its first argument. */
type FetchInput = string | URL | Request;

/** A `fetch` whose calls keep to a limiter. */
export type LimitedFetch = typeof fetch & {
  /** The limiter of its calls: to close it, to block a subject, to look at what is left. */
  readonly limiter: Limiter;
};

/**
 * Returns a `fetch` that sends as fast as a limiter allows. Calls wait in line; a 429, or a 503 with `Retry-After`, stops all calls
 * of the subject, in all processes that share the store, until the provider takes requests again; what a provider counts beyond the
 * limiter is charged. Throws `HEADGATE_INVALID_OPTION`, and the errors of `createLimiter`.
 *
 * Calls reject with the errors of `fetch`, those of `limiter.wait`, and the signal's reason.
 */
export function limitFetch<const Dimension extends string = string>(
  options: LimitFetchOptions<Dimension>,
): LimitedFetch {
  const settings = readOptions("limitFetch", options as LimitFetchOptions);
  const { settle, fetch: send = (...given) => fetch(...given) } = options;
  const calls = new OutgoingCalls(settings);

  async function limited(input: FetchInput, init?: RequestInit): Promise<Response> {
    const request = describeRequest(input, init);
    const call = await calls.begin(request, request.url.origin);
    const signal = signalOf(input, init);
    const canSendAgain = isReusable(request.body);
    let last: Response | undefined;
    for (;;) {
      const admission = await call.admit(signal).catch((error) => {
        discard(last);
        throw error;
      });
      if (admission === undefined) return last as Response;
      discard(last);
      try {
        const response = await send(copyOf(input, call), init);
        const refusal = await call.onAnswer(admission, answerOf(response));
        if (settle !== undefined) calls.settle(admission.decision, () => settle(response));
        if (refusal === undefined || !canSendAgain || !call.retries(refusal)) {
          return held(response, admission);
        }
        last = response;
      } catch (error) {
        await admission.release();
        throw error;
      }
      await admission.release();
    }
  }

  function held(response: Response, { release }: Admission): Response {
    const { slotTtlMs } = settings;
    if (slotTtlMs === undefined) return response;
    return withBodyEnd(response, { onEnd: release, idleMs: slotTtlMs });
  }

  return Object.assign(limited, { limiter: settings.limiter });
}

/** The signal that ends the call, as `fetch` chooses it: null in `init` replaces that of a `Request` by none. */
function signalOf(input: FetchInput, init: RequestInit | undefined): AbortSignal | undefined {
  const given = init?.signal;
  return (given === undefined && isRequest(input) ? input.signal : given) ?? undefined;
}

function answerOf(response: Response): Answer {
  const { status, headers } = response;
  return {
    status,
    header: (name) => headers.get(name) ?? undefined,
    isRedirected: response.redirected,
    text: () => readClone(response),
  };
}

/** Frees the connection of a response that nobody will read. */
function discard(response: Response | undefined): void {
  void response?.body?.cancel().catch(() => {});
}

/** A `Request` can be sent once, so all attempts but the last one send a copy. */
function copyOf(input: FetchInput, call: OutgoingCall): FetchInput {
  return isRequest(input) && !call.isLastAttempt ? input.clone() : input;
}

/** Throws a `TypeError` for an invalid URL, as `fetch` does. */
function describeRequest(input: FetchInput, init: RequestInit | undefined): OutgoingRequest {
  const given = isRequest(input) ? input : undefined;
  const headers = init?.headers ?? given?.headers;
  return outgoingRequest({
    url: new URL(given?.url ?? String(input)),
    method: init?.method ?? given?.method ?? "GET",
    headers: () => new Headers(headers),
    body: init?.body ?? (given === undefined || given.body === null ? null : undefined),
  });
}

/** Whether the input is a `Request`, of Node or of the package undici. */
function isRequest(input: FetchInput): input is Request {
  return typeof input === "object" && "url" in input && "clone" in input;
}
