import { formatKind, formatReceived, HeadgateError } from "./errors.ts";

/** Whether a value is what braces or JSON make, in any realm: no array, and no instance of a class. */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Throws `HEADGATE_INVALID_OPTION` for options that are not an object, or that have a property nobody reads. */
export function rejectUnknownOptions(
  owner: string,
  options: unknown,
  known: readonly string[],
  hints: Readonly<Record<string, string>> = {},
): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `${owner}: options must be an object, got ${formatReceived(options)}`,
    );
  }
  const given = Object.keys(options);
  // A signal, say, that stands where options go: it would pass for an object without any.
  if (given.length === 0 && !isPlainObject(options)) {
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `${owner}: options must be a plain object, which takes ${known.join(", ")}; got an object of another kind`,
    );
  }
  for (const option of given) {
    if (known.includes(option)) continue;
    const hint = Object.hasOwn(hints, option)
      ? `; Headgate's way is ${hints[option]}`
      : `; it takes ${known.join(", ")}`;
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `${owner}: unknown option ${formatReceived(option)}${hint}`,
    );
  }
}

/** Options as they are written in code, on one line, without those that were left out. */
export function formatOptions(options: object): string {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  if (given.length === 0) return "{}";
  const written = given.map(
    ([name, value]) =>
      `${name}: ${isPlainObject(value) ? formatOptions(value) : formatReceived(value)}`,
  );
  return `{ ${written.join(", ")} }`;
}

/** Throws `HEADGATE_INVALID_OPTION` for an argument more than a function takes, since what it asks for would be ignored. */
export function rejectMore(signature: string, more: unknown): void {
  if (more === undefined) return;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `${signature} takes nothing more, got ${formatKind(more)}`,
  );
}

/**
 * Throws `HEADGATE_INVALID_OPTION` for options of `close`, which has none. Whatever else it is handed it must not mind: it is
 * what shutdown hooks call, with the name of a signal, an event, a result.
 */
export function rejectCloseOptions([given]: readonly unknown[]): void {
  if (isPlainObject(given)) rejectMore("close()", given);
}
