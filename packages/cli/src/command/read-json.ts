import { readFileSync } from "node:fs";
import { CommandError, messageOf } from "./command-error.ts";

/** Reads JSON of an option, or of the file behind an @. Throws a `CommandError`. */
export function readJson(option: string, text: string): unknown {
  const json = text.startsWith("@") ? readText(option, text.slice(1)) : text;
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw new CommandError(`${option} must be JSON, or @FILE with JSON in it`, undefined, {
      cause,
    });
  }
}

/** Reads a file that an option names. Throws a `CommandError`. */
export function readText(option: string, file: string): string {
  try {
    // Unlike the encoding "utf8", it leaves a byte order mark out.
    return new TextDecoder().decode(readFileSync(file));
  } catch (cause) {
    throw new CommandError(`${option}: cannot read ${file}: ${messageOf(cause)}`, undefined, {
      cause,
    });
  }
}
