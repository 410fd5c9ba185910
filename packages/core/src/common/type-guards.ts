/** A value, or a promise of it if it has to be awaited. */
export type Awaitable<Value> = Value | Promise<Value>;

/** Whether a value must be awaited. Plain values are not awaited, because each await costs time on every request. */
export function isPromiseLike<Value>(
  value: Value | PromiseLike<Value>,
): value is PromiseLike<Value> {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return false;
  return typeof (value as Partial<PromiseLike<Value>>).then === "function";
}

/** Whether a value is an object literal or parsed JSON, from any realm; not an array or an instance of a class. */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

export function isString(value: unknown): value is string {
  return typeof value === "string";
}

export function isWholeNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

export function isArrayOf<T>(
  value: unknown,
  isItem: (item: unknown) => item is T,
): value is readonly T[] {
  return Array.isArray(value) && value.every(isItem);
}

export function isRecordOf<T>(
  value: unknown,
  isItem: (item: unknown) => item is T,
): value is Readonly<Record<string, T>> {
  return isPlainObject(value) && Object.values(value).every(isItem);
}

/** The value of a JSON text; undefined if it is not valid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
