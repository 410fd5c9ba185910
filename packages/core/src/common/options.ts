import { formatKind, formatReceived, invalidOption, invalidValue } from "./errors.ts";
import { isPlainObject } from "./type-guards.ts";

/**
 * Throws `HEADGATE_INVALID_OPTION` for options that are not an object, or that have an unknown property. Calls `getHints`
 * only if one is unknown.
 */
export function rejectUnknownOptions(
  owner: string,
  options: unknown,
  known: readonly string[],
  getHints: () => Readonly<Record<string, string>> = () => ({}),
): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw invalidValue(`${owner}: options must be an object`, options);
  }
  const given = Object.keys(options);
  // An AbortSignal passed as options, for example, has no own keys and would pass.
  if (given.length === 0 && !isPlainObject(options)) {
    throw invalidOption(`${owner}: options must be a plain object; it takes ${known.join(", ")}`);
  }
  const unknown = given.filter((option) => !known.includes(option));
  if (unknown.length === 0) return;
  throw invalidOption(`${owner}: ${formatUnknownOptions(unknown, known, getHints())}`);
}

/** The most unknown options that a message lists. */
const MAX_LISTED = 10;

/**
 * All unknown options in one sentence: each with Headgate's equivalent if `hints` has one, otherwise with the list of known
 * options.
 */
export function formatUnknownOptions(
  unknown: readonly string[],
  known: readonly string[],
  hints: Readonly<Record<string, string>> = {},
): string {
  const equivalent = (option: string): string | undefined =>
    Object.hasOwn(hints, option) ? hints[option] : undefined;
  const others = unknown.every((option) => equivalent(option) !== undefined)
    ? ""
    : `; it takes ${known.join(", ")}`;
  const [first] = unknown as [string];
  if (unknown.length === 1) {
    const hint = equivalent(first);
    return `unknown option ${formatReceived(first)}${hint === undefined ? others : `; Headgate's way is ${hint}`}`;
  }
  const listed = unknown.slice(0, MAX_LISTED).map((option) => {
    const hint = equivalent(option);
    return hint === undefined
      ? formatReceived(option)
      : `${formatReceived(option)} (Headgate's way is ${hint})`;
  });
  const more = unknown.length - listed.length;
  return `unknown options ${listed.join(", ")}${more > 0 ? ` and ${more} more` : ""}${others}`;
}

/** Options as they would be written in code, on one line, without undefined ones. */
export function formatOptions(options: object): string {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  if (given.length === 0) return "{}";
  const written = given.map(
    ([name, value]) =>
      `${name}: ${isPlainObject(value) ? formatOptions(value) : formatReceived(value)}`,
  );
  return `{ ${written.join(", ")} }`;
}

/** Reads a boolean option. Throws `HEADGATE_INVALID_OPTION`. */
export function readBoolean(option: string, value: unknown = false): boolean {
  if (typeof value === "boolean") return value;
  throw invalidValue(`${option} must be true or false`, value);
}

/** Throws `HEADGATE_INVALID_OPTION` for an extra argument, which would otherwise be ignored silently. */
export function rejectExtraArgument(signature: string, more: unknown): void {
  if (more === undefined) return;
  throw invalidValue(`${signature} takes no other argument`, more, formatKind);
}

/**
 * Throws `HEADGATE_INVALID_OPTION` for an options object passed to `close`, which has no options. Other arguments are ignored,
 * because `close` is used as a shutdown hook, and hooks are called with a signal's name, an event or a result.
 */
export function rejectCloseOptions([given]: readonly unknown[]): void {
  if (isPlainObject(given)) rejectExtraArgument("close()", given);
}
