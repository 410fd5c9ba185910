import type { Header } from "@headgate/core/http";
import { valueBehind } from "@headgate/core/http";
import type { FastifyReply } from "fastify";

/** Sets headers on a reply, or removes them. */
export function setHeaders(reply: FastifyReply, headers: readonly Header[]): void {
  for (const header of headers) {
    const [name, , added] = header;
    const value = valueBehind(header, added && reply.getHeader(name));
    if (value === undefined) reply.removeHeader(name);
    else reply.header(fieldOf(name), value);
  }
}

/** Header names as Fastify keeps them; it would lower their case for every request. */
const fields = new Map<string, string>();

function fieldOf(name: string): string {
  const known = fields.get(name);
  if (known !== undefined) return known;
  const field = name.toLowerCase();
  fields.set(name, field);
  return field;
}
