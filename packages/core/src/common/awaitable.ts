/** A value, or a promise of it if it has to be awaited. */
export type Awaitable<Value> = Value | Promise<Value>;

/** Whether a value must be awaited. Plain values are not awaited, because each await costs time on every request. */
export function isPromiseLike<Value>(
  value: Value | PromiseLike<Value>,
): value is PromiseLike<Value> {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return false;
  return typeof (value as Partial<PromiseLike<Value>>).then === "function";
}
