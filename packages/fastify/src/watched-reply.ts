import { PROBLEM_JSON } from "@headgate/core/http";
import type { DeniedResponse } from "@headgate/core/internal-http";
import { isPromiseLike } from "@headgate/core/internal-http";
import type { FastifyReply } from "fastify";

/** The reply of a denied request, which `onDenied` may send. */
export interface WatchedReply {
  /** Whether Fastify has something to send, or will be given it. */
  readonly hasSent: boolean;
  /** Sends Headgate's answer with its status, and drops what is sent later. */
  close(status: number): void;
}

type Method = (...args: unknown[]) => unknown;

/** What sends some time later, and returns the reply at once: of Fastify, and of @fastify/static. */
const DEFERRED_METHODS = ["callNotFound", "sendFile", "download"];

/** Replies that Headgate has answered, until the answer fails on its way. */
const closedReplies = new WeakMap<FastifyReply, DeniedResponse>();

/** If Headgate's answer fails on its way, in a hook of the application, the error handler answers instead. */
export function reopenReply(reply: FastifyReply): void {
  closedReplies.get(reply)?.unlockHead();
  closedReplies.delete(reply);
}

/** Notices which methods of a reply answer, or may answer before long, and drops what is sent after an answer. */
export function watchReply(reply: FastifyReply, response: DeniedResponse): WatchedReply {
  let hasSent = false;

  function begin(call: () => unknown): unknown {
    const result = response.begin(call);
    hasSent = true;
    // Fastify ends what it was given.
    response.addPending();
    return result;
  }

  const { send } = reply;
  // Stays: until the last onSend hook is done, Fastify would take another payload.
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
      // Another answer is being prepared, such as a file, and this one does not fit what was set for it.
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

/** Puts something around a method of a reply, if it has one of that name. */
function wrapMethod(reply: FastifyReply, name: string, wrap: (call: Method) => Method): void {
  const method = (reply as unknown as Record<string, Method>)[name];
  if (typeof method !== "function") return;
  const value = wrap((...args) => method.apply(reply, args));
  Object.defineProperty(reply, name, { value, configurable: true, writable: true });
}

/** An asynchronous decorator may send, whatever its name, as that of @fastify/view does. */
function watchDecorators(reply: FastifyReply, response: DeniedResponse): void {
  for (const name of decoratorsOf(reply)) {
    wrapMethod(reply, name, (call) => (...args) => {
      const result = call(...args);
      // A reply is thenable too, and only settles when it has been sent: decorators return it to be chained.
      if (result !== reply && isPromiseLike(result)) {
        const over = response.addPending();
        // Its caller handles what goes wrong.
        result.then(
          () => over(),
          () => over(),
        );
      }
      return result;
    });
  }
}

/** What comes with an answer and no onSend hook would set. */
const PAYLOAD_HEADERS = ["location", "content-disposition", "content-range", "last-modified"];

/** Takes back what was set for an answer that is dropped. */
function resetPayloadHeaders(reply: FastifyReply): void {
  for (const name of PAYLOAD_HEADERS) reply.removeHeader(name);
  reply.header("content-type", PROBLEM_JSON);
}

/**
 * A stream may fail while onSend hooks run, when nobody listens yet, and end the process; Fastify finds out when it reads it.
 * One that nobody will read is released.
 */
function ignoreStreamErrors(payload: unknown, isDropped: boolean): void {
  const { on, destroy } = Object(payload) as { on?: unknown; destroy?: unknown };
  if (typeof on !== "function") return;
  on.call(payload, "error", () => {});
  if (isDropped && typeof destroy === "function") destroy.call(payload);
}

/** By the prototype of replies: each scope that decorates them has its own. */
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
