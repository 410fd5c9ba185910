import type { FastifyReply } from "fastify";

/** By the prototype of replies: each scope that decorates them has its own. */
const known = new WeakMap<object, readonly string[]>();

/** The names of the functions that decorate a reply. */
export function decoratorsOf(reply: FastifyReply): readonly string[] {
  const prototype = Object.getPrototypeOf(reply) as object;
  const names = known.get(prototype) ?? findDecorators(prototype);
  known.set(prototype, names);
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
