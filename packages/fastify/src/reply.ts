import type { Header, Rejection } from "@headgate/core/http";
import { PROBLEM_JSON } from "@headgate/core/http";
import type { DeniedResponse } from "@headgate/core/internal-http";
import { isPromiseLike, resolveHeaderValue } from "@headgate/core/internal-http";
import type { FastifyReply } from "fastify";

/** Sets headers on a reply, or removes them. */
export function setHeaders(reply: FastifyReply, headers: readonly Header[]): void {
  for (const header of headers) {
    const [name, plain, mode] = header;
    const value = mode === undefined ? plain : resolveHeaderValue(header, reply.getHeader(name));
    let field = fields.get(name);
    if (field === undefined) {
      field = name.toLowerCase();
      fields.set(name, field);
    }
    if (value === undefined) reply.removeHeader(field);
    else reply.header(field, value);
  }
}

/** Header names as Fastify keeps them; it would convert them for every request. */
const fields = new Map<string, string>();

/** Responds to a request that does not continue. */
export function reject(reply: FastifyReply, { status, contentType, body }: Rejection): void {
  // Bytes, because a serializer of the route or a hook would change even a finished string.
  reply.code(status).header("content-type", contentType).send(Buffer.from(body));
}

/**
 * Whether a value that `onDenied` returned is a payload, as it would be in a handler: text, bytes, a stream, a `Response`,
 * a plain object or an array. Anything else comes from functions that only log: a count, the result of a call, an object
 * of some library.
 */
export function isPayload(value: unknown): boolean {
  if (typeof value === "string") return true;
  if (typeof value !== "object" || value === null) return false;
  if (ArrayBuffer.isView(value) || value instanceof Response || Array.isArray(value)) return true;
  const { pipe, getReader } = value as { pipe?: unknown; getReader?: unknown };
  if (typeof pipe === "function" || typeof getReader === "function") return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** The reply of a denied request, which `onDenied` may send. */
interface WatchedReply {
  /** Whether the application has begun to send. */
  readonly hasSent: boolean;
  /** Marks Headgate's response as sent with this status, and drops later ones. */
  close(status: number): void;
}

type Method = (...args: unknown[]) => unknown;

/** Methods of Fastify and @fastify/static that return the reply at once and send later. */
const DEFERRED_METHODS = ["callNotFound", "sendFile", "download"];

/** Replies that have Headgate's response, unless it failed in a hook. */
const closedReplies = new WeakMap<FastifyReply, DeniedResponse>();

/** Lets the error handler respond if Headgate's response failed in a hook of the application. */
export function unlockFailedDenial(reply: FastifyReply): void {
  closedReplies.get(reply)?.unlockHead();
  closedReplies.delete(reply);
}

/** Tracks which methods of a reply send, or may send later, and drops everything that is sent after a response. */
export function watchReply(reply: FastifyReply, response: DeniedResponse): WatchedReply {
  let hasSent = false;

  function begin(call: () => unknown): unknown {
    const result = response.begin(call);
    hasSent = true;
    // Fastify sends the payload and ends the response.
    response.addPending();
    return result;
  }

  const { send } = reply;
  // This wrapper stays: until the last onSend hook is done, Fastify would accept another payload.
  reply.send = (payload?: unknown) => {
    const isLate = closedReplies.has(reply) || reply.sent;
    ignoreStreamErrors(payload, isLate);
    if (isLate) {
      if (!reply.raw.headersSent) resetPayloadHeaders(reply);
      response.reportLate();
      return reply;
    }
    const isSecond = hasSent;
    try {
      begin(() => send.call(reply, payload));
    } catch (error) {
      if (!isSecond) throw error;
      // Another response is in preparation, such as a file, and this payload does not fit its headers.
      response.reportLate(error);
    }
    return reply;
  };
  for (const name of DEFERRED_METHODS) {
    wrapMethod(
      reply,
      name,
      (call) =>
        (...args) =>
          begin(() => call(...args)),
    );
  }
  watchDecorators(reply, response);

  return {
    get hasSent() {
      return hasSent;
    },
    close(status) {
      closedReplies.set(reply, response);
      response.lockHead(status, {});
    },
  };
}

/** Wraps a method of a reply, if it has one of that name. */
function wrapMethod(reply: FastifyReply, name: string, wrap: (call: Method) => Method): void {
  const method = (reply as unknown as Record<string, Method>)[name];
  if (typeof method !== "function") return;
  const value = wrap((...args) => method.apply(reply, args));
  Object.defineProperty(reply, name, { value, configurable: true, writable: true });
}

/** An asynchronous decorator may send, whatever its name, such as the one of @fastify/view. */
function watchDecorators(reply: FastifyReply, response: DeniedResponse): void {
  for (const name of decoratorsOf(reply)) {
    wrapMethod(reply, name, (call) => (...args) => {
      const result = call(...args);
      // A reply is thenable too, and only settles when it has been sent: decorators return it to be chained.
      if (result !== reply && isPromiseLike(result)) {
        const over = response.addPending();
        // Its caller handles errors.
        result.then(
          () => over(),
          () => over(),
        );
      }
      return result;
    });
  }
}

/** Headers that belong to a payload and that no onSend hook would set. */
const PAYLOAD_HEADERS = ["location", "content-disposition", "content-range", "last-modified"];

/** Removes the headers of a payload that is dropped. */
function resetPayloadHeaders(reply: FastifyReply): void {
  for (const name of PAYLOAD_HEADERS) reply.removeHeader(name);
  reply.header("content-type", PROBLEM_JSON);
}

/**
 * A stream without a listener may fail while onSend hooks run, and end the process; Fastify sees the error when it reads the stream.
 * A dropped stream is destroyed.
 */
function ignoreStreamErrors(payload: unknown, isDropped: boolean): void {
  const { on, destroy } = Object(payload) as { on?: unknown; destroy?: unknown };
  if (typeof on !== "function") return;
  on.call(payload, "error", () => {});
  if (isDropped && typeof destroy === "function") destroy.call(payload);
}

/** The names by the prototype of replies: each scope that decorates them has its own. */
const decorators = new WeakMap<object, readonly string[]>();

/** The names of the functions that decorate a reply. */
function decoratorsOf(reply: FastifyReply): readonly string[] {
  const prototype = Object.getPrototypeOf(reply) as object;
  const names = decorators.get(prototype) ?? findDecorators(prototype);
  decorators.set(prototype, names);
  return names;
}

/** Fastify's own methods are on the last prototype, and no decorators are. */
function findDecorators(prototype: object): readonly string[] {
  const next = Object.getPrototypeOf(prototype) as object | null;
  if (next === null || next === Object.prototype) return [];
  const own = Object.entries(Object.getOwnPropertyDescriptors(prototype))
    .filter(([name, { value }]) => typeof value === "function" && name !== "constructor")
    .map(([name]) => name);
  return [...own, ...findDecorators(next)];
}
