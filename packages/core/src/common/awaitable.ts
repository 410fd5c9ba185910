/** A value that may be known already: if the answer is in this process, nothing is awaited. */
export type Awaitable<Value> = Value | Promise<Value>;

/** Whether a value must be awaited. Plain values are not, because each await costs every request time. */
export function isPromiseLike<Value>(
  value: Value | PromiseLike<Value>,
): value is PromiseLike<Value> {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return false;
  return typeof (value as Partial<PromiseLike<Value>>).then === "function";
}
