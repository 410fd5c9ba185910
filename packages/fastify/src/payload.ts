/**
 * Whether what `onDenied` returned is an answer, as it would be in a handler: text, bytes, a stream, a `Response`, a plain
 * object or an array. Anything else comes from functions that only log: a count, the result of a call, an object of some library.
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
