import { readFileSync } from "node:fs";
import { CommandError, messageOf } from "./command-error.ts";

/** Parses JSON in an option, or in the file of `@FILE`. Throws a `CommandError`. */
export function readJson(option: string, text: string): unknown {
  const json = text.startsWith("@") ? readText(option, text.slice(1)) : text;
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw new CommandError(
      `${option} must be JSON, or @FILE for a file that contains JSON`,
      undefined,
      {
        cause,
      },
    );
  }
}

/** Reads a file that an option names. Throws a `CommandError`. */
export function readText(option: string, file: string): string {
  try {
    // Unlike the encoding "utf8", TextDecoder removes a byte order mark.
    return new TextDecoder().decode(readFileSync(file));
  } catch (cause) {
    throw new CommandError(`${option}: cannot read ${file}: ${messageOf(cause)}`, undefined, {
      cause,
    });
  }
}
