import type { Header, Rejection } from "@headgate/core/http";
import { resolveHeaderValue } from "@headgate/core/internal-http";
import type { FastifyReply } from "fastify";

/** Header names as Fastify keeps them; it would convert them for every request. */
const fields = new Map<string, string>();

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
