import type { OutgoingRequest } from "./fetch-options.ts";
import { outgoingRequest } from "./outgoing-request.ts";

/** What undici's `dispatch` takes, as far as a limit needs to know. */
export interface DispatchOptions {
  readonly origin?: string | URL | undefined;
  readonly path: string;
  readonly method: string;
  readonly headers?: unknown;
  readonly body?: unknown;
}

/** Controls an exchange: the part of undici's controller that handlers use. */
export interface Controller {
  readonly aborted: boolean;
  readonly reason: Error | null;
  readonly paused: boolean;
  readonly rawHeaders?: unknown;
  readonly rawTrailers?: unknown;
  abort(reason: Error): void;
  pause(): void;
  resume(): void;
}

/** The headers of a response as undici passes them. */
export type HeaderRecord = Readonly<Record<string, string | string[] | undefined>>;

/** A handler of an exchange, as undici 7 calls it. */
export interface Handler {
  onRequestStart?(controller: Controller, context: unknown): void;
  onRequestUpgrade?(
    controller: Controller,
    status: number,
    headers: HeaderRecord,
    socket: unknown,
  ): void;
  onResponseStart?(
    controller: Controller,
    status: number,
    headers: HeaderRecord,
    statusMessage?: string,
  ): void;
  onResponseData?(controller: Controller, chunk: Buffer): void;
  onResponseEnd?(controller: Controller, trailers: HeaderRecord): void;
  onResponseError?(controller: Controller, error: Error): void;
}

/** A handler as older versions call it, among them the `fetch` of Node 20 to 24. */
export interface LegacyHandler {
  onConnect?(abort: (reason?: Error) => void, context?: unknown): void;
  onUpgrade?(status: number, headers: Buffer[], socket: unknown): void;
  onHeaders?(
    status: number,
    headers: Buffer[],
    resume: () => void,
    statusMessage?: string,
  ): boolean | undefined;
  onData?(chunk: Buffer): boolean | undefined;
  onComplete?(trailers: Buffer[]): void;
  onError?(error: Error): void;
}

/** A handler that can be called as undici 7 does. */
export function toHandler(given: Handler | LegacyHandler): Handler {
  if ("onRequestStart" in given) return given;
  const legacy = given as LegacyHandler;
  return {
    onRequestStart(controller, context) {
      legacy.onConnect?.((reason = new Error("aborted")) => controller.abort(reason), context);
    },
    onRequestUpgrade(_, status, headers, socket) {
      legacy.onUpgrade?.(status, toRaw(headers), socket);
    },
    onResponseStart(controller, status, headers, statusMessage) {
      const resume = () => controller.resume();
      if (legacy.onHeaders?.(status, toRaw(headers), resume, statusMessage) === false) {
        controller.pause();
      }
    },
    onResponseData(controller, chunk) {
      if (legacy.onData?.(chunk) === false) controller.pause();
    },
    onResponseEnd(_, trailers) {
      legacy.onComplete?.(toRaw(trailers));
    },
    onResponseError(_, error) {
      legacy.onError?.(error);
    },
  };
}

/** Names and values in turns, as they were on the wire. */
function toRaw(headers: HeaderRecord): Buffer[] {
  const raw: Buffer[] = [];
  for (const [name, value] of Object.entries(headers)) {
    for (const one of [value ?? []].flat()) {
      raw.push(Buffer.from(name, "latin1"), Buffer.from(one, "latin1"));
    }
  }
  return raw;
}

/** The headers of a response, or of a request, from undici's record of them. */
export function headersOf(record: HeaderRecord): Headers {
  return new Headers(
    Object.entries(record).flatMap(([name, value]) =>
      [value ?? []].flat().map((one): [string, string] => [name, one]),
    ),
  );
}

/** Reads headers in any form that undici takes: an object, a list of names and values in turns, or pairs. */
function readHeaders(given: unknown): Headers {
  if (!Array.isArray(given) || Array.isArray(given[0])) {
    const isIterable = typeof given === "object" && given !== null && Symbol.iterator in given;
    const pairs = isIterable
      ? [...(given as Iterable<[string, string | string[]]>)]
      : Object.entries((given ?? {}) as HeaderRecord);
    return headersOf(Object.fromEntries(pairs));
  }
  const headers = new Headers();
  for (let at = 0; at + 1 < given.length; at += 2) {
    headers.append(String(given[at]), String(given[at + 1]));
  }
  return headers;
}

/** The origin that a request is sent to; undefined if its dispatcher has only one. */
export function originOf({ origin }: DispatchOptions): string | undefined {
  return origin === undefined ? undefined : new URL(origin).origin;
}

/** Describes a request for functions of the application. */
export function describeRequest(sent: DispatchOptions): OutgoingRequest {
  const { path, method, headers, body } = sent;
  const origin = originOf(sent) ?? "http://origin.invalid";
  return outgoingRequest({
    // Not resolved against the origin: the path `//name/` is that of another host then, but it is sent to this one.
    url: new URL(`${origin}${path.startsWith("/") ? "" : "/"}${path}`),
    method,
    headers: () => readHeaders(headers),
    body: body ?? null,
  });
}
