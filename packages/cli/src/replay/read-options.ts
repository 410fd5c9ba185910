import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { HeadgateError } from "@headgate/core";
import type { LogFields, NamedPolicy, ReplayPolicies } from "@headgate/replay";
import { DEFAULT_LIMITS, readLimits } from "@headgate/replay";
import { CommandError, EXIT, messageOf } from "../command/command-error.ts";

const FIELDS: readonly string[] = ["time", "client", "method", "path", "agent"];

/** Reads `--fields`, as in `time=ts,client=request.remote_ip`. Throws a `CommandError`. */
export function parseFields(text: string): LogFields {
  const fields: Record<string, string> = {};
  for (const part of text.split(",")) {
    const at = part.indexOf("=");
    const name = part.slice(0, Math.max(at, 0)).trim();
    const field = part.slice(at + 1).trim();
    if (at === -1 || field === "" || !FIELDS.includes(name)) {
      throw new CommandError(
        `--fields must list fields, as in time=ts,client=remote_addr (and method, path, agent), got ${JSON.stringify(part)}`,
      );
    }
    if (Object.hasOwn(fields, name)) throw new CommandError(`--fields names ${name} twice`);
    fields[name] = field;
  }
  const missing = ["time", "client"].find((name) => !Object.hasOwn(fields, name));
  if (missing !== undefined) {
    throw new CommandError(
      `--fields must name the field with the ${missing}, as in time=ts,client=remote_addr`,
    );
  }
  return fields as unknown as LogFields;
}

const EXAMPLE = `'[{"algorithm":"gcra","limit":100,"window":"1m"}]'`;

/** `strict={"algorithm":...}`, `strict=limits/strict.json`. */
const NAMED = /^(?<name>[\w.][\w. -]{0,39})=(?<rest>.+)$/s;

/**
 * Reads the values of `--limits`: `[NAME=]JSON`, `[NAME=]FILE` or `[NAME=]@FILE`, with a limit or a list of limits. Without a value: the default.
 * Throws a `CommandError`.
 */
export async function readPolicies(texts: readonly string[]): Promise<ReplayPolicies> {
  return texts.length === 0 ? DEFAULT_LIMITS : Promise.all(texts.map(readNamed));
}

async function readNamed(text: string): Promise<NamedPolicy> {
  const { name, rest = text } = NAMED.exec(text)?.groups ?? {};
  if (/^\s*[[{]/.test(rest)) return { name, limits: parseLimits(rest, "--limits") };
  const path = rest.replace(/^@/, "");
  const limits = parseLimits(await readLimitsFile(path), `--limits ${path}`);
  return { name: name ?? basename(path, ".json"), limits };
}

async function readLimitsFile(path: string): Promise<string> {
  try {
    // Unlike the encoding "utf8", TextDecoder removes a byte order mark.
    return new TextDecoder().decode(await readFile(path));
  } catch (error) {
    throw new CommandError(
      `--limits must be JSON, as in ${EXAMPLE}, or the path of a file that contains it: ${messageOf(error)}`,
      undefined,
      { cause: error },
    );
  }
}

function parseLimits(json: string, option: string): NamedPolicy["limits"] {
  try {
    return readLimits(JSON.parse(json));
  } catch (error) {
    const rule = error instanceof SyntaxError ? ` must be JSON, as in ${EXAMPLE}` : "";
    throw new CommandError(`${option}${rule}: ${messageOf(error)}`, undefined, { cause: error });
  }
}

/** The options of `replay` and `recommend` by their names on the command line. */
const NAMES: Readonly<Record<string, string>> = {
  fields: "--fields",
  policies: "--limits",
  framework: "--http",
  denyAtMost: "--deny-at-most",
  of: "--of",
  windows: "--window",
  algorithm: "--algorithm",
};

/** The error of a replay, in words of the command line. */
export function explainReplayError(error: unknown): unknown {
  if (!(error instanceof HeadgateError)) return error;
  const message = error.message.replace(/^\w+(?= must )/, (option) => NAMES[option] ?? option);
  const isStoreError = error.code === "HEADGATE_STORE_UNAVAILABLE";
  return new CommandError(message, isStoreError ? EXIT.store : EXIT.misuse, { cause: error });
}
