import type { Header, Rejection } from "@headgate/core/http";
import { sendRejection, setHeaders } from "@headgate/core/http";
import type { ReplyWithRaw } from "@headgate/core/internal-http";
import { mirrorHeaders } from "@headgate/core/internal-http";

type HeaderMethod = (name: string, value: string) => unknown;

/** Express's response, which is Node's, or Fastify's reply, which has Node's as `raw`. */
export interface Reply {
  statusCode: number;
  readonly raw?: NodeReply;
  readonly headersSent?: boolean;
  readonly writableEnded?: boolean;
  getHeader(name: string): unknown;
  removeHeader(name: string): unknown;
  setHeader?: HeaderMethod;
  /** Fastify's. */
  header?: HeaderMethod;
  send?: (payload: unknown) => unknown;
  end?: (body: string) => unknown;
}

/** Node's response. */
export interface NodeReply {
  statusCode: number;
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  getHeader(name: string): unknown;
  setHeader(name: string, value: string): unknown;
  removeHeader(name: string): unknown;
}

/** Node's response of a reply. */
export function nodeOf(reply: Reply): NodeReply {
  return reply.raw ?? (reply as NodeReply);
}

/** Sets headers on a reply of either platform, or removes them. */
export function setReplyHeaders(reply: Reply, headers: readonly Header[]): void {
  const isOfFastify = reply.raw !== undefined;
  setHeaders(
    {
      getHeader: (name) => reply.getHeader(name),
      setHeader: (name, value) =>
        isOfFastify ? reply.header?.(name, value) : reply.setHeader?.(name, value),
      removeHeader: (name) => reply.removeHeader(name),
    },
    headers,
  );
}

/**
 * Sets the headers of a request that does not continue; on Fastify also on Node's response, for filters that respond there.
 */
export function setDenialHeaders(reply: Reply, headers: readonly Header[]): void {
  setReplyHeaders(reply, headers);
  if (reply.raw !== undefined) mirrorHeaders(reply as ReplyWithRaw, headers);
}

/** Responds to a request that does not continue. */
export function reject(reply: Reply, rejection: Rejection): void {
  const node = nodeOf(reply);
  if (node.headersSent) return;
  if (reply.raw === undefined) {
    sendRejection(reply as Parameters<typeof sendRejection>[0], rejection);
    return;
  }
  node.statusCode = rejection.status;
  reply.header?.("content-type", rejection.contentType);
  // Bytes, because a serializer or a hook would change even a finished string.
  reply.send?.(Buffer.from(rejection.body));
}
