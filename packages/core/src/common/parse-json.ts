import { isPlainObject } from "./plain-object.ts";

/** The value of a JSON text; undefined if it is not valid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
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
