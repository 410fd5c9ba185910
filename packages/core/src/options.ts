import { formatReceived, HeadgateError } from "./errors.ts";

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
  for (const option of Object.keys(options)) {
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
