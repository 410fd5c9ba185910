/** Whether a function of the application returned a promise. Other values are not awaited, because each wait costs every request time. */
export function isPromiseLike<Value>(
  value: Value | PromiseLike<Value>,
): value is PromiseLike<Value> {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return false;
  return typeof (value as Partial<PromiseLike<Value>>).then === "function";
}
