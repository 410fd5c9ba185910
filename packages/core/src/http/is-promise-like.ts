/** Whether a function of the application answers later. What is known already is not waited for: each wait costs every request. */
export function isPromiseLike<Value>(
  value: Value | PromiseLike<Value>,
): value is PromiseLike<Value> {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return false;
  return typeof (value as Partial<PromiseLike<Value>>).then === "function";
}
