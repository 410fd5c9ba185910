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

export function isBoolean(value: unknown): value is boolean {
  return typeof value === "boolean";
}

export function isWholeNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Checks the type of a value. */
export type Guard<T> = (value: unknown) => value is T;

/** A check for each property of an object. */
type Guards<T> = { readonly [Name in keyof T]-?: Guard<T[Name]> };

/** Checks for an object whose properties pass their checks, and which may have others. */
export function objectOf<T extends object>(guards: Guards<T>): Guard<T> {
  const checks = Object.entries<Guard<unknown>>(guards);
  return (value): value is T =>
    isPlainObject(value) && checks.every(([name, isValid]) => isValid(value[name]));
}

/** The same for an object without other properties. */
export function exactObjectOf<T extends object>(guards: Guards<T>): Guard<T> {
  const isValid = objectOf(guards);
  return (value): value is T =>
    isValid(value) && Object.keys(value).every((name) => Object.hasOwn(guards, name));
}

export function arrayOf<T>(isItem: Guard<T>): Guard<readonly T[]> {
  return (value): value is readonly T[] => Array.isArray(value) && value.every(isItem);
}

/** Checks for an object with any property names. */
export function recordOf<T>(isItem: Guard<T>): Guard<Readonly<Record<string, T>>> {
  return (value): value is Readonly<Record<string, T>> =>
    isPlainObject(value) && Object.values(value).every(isItem);
}

export function optional<T>(isValid: Guard<T>): Guard<T | undefined> {
  return (value): value is T | undefined => value === undefined || isValid(value);
}

export function oneOf<const T>(...values: readonly T[]): Guard<T> {
  return (value): value is T => values.includes(value as T);
}

/** The value of a JSON text; undefined if it is not valid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
