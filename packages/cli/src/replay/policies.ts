import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import type { Limit } from "@headgate/core";
import { createLimiter, gcra, readPolicy, slidingLog } from "@headgate/core";
import { CommandError, messageOf } from "../command/command-error.ts";
import { MAX_POLICIES } from "./trace.ts";

/** The dimensions that a replay supports: the client, under either name, and all clients together. */
const DIMENSIONS = ["default", "ip", "global"] as const;

/** A limit that a replay supports. */
export type ReplayLimit = Limit<(typeof DIMENSIONS)[number]>;

/** A policy to be replayed. */
export interface NamedPolicy {
  /** The name, which is unique among the policies of a replay. */
  readonly name: string;
  readonly limits: readonly ReplayLimit[];
}

/** Enough for human readers, but too little for a program that downloads everything, whether fast or slowly. */
export const DEFAULT_LIMITS: readonly ReplayLimit[] = [
  gcra({ limit: 30, window: "1m" }),
  slidingLog({ limit: 100, window: "1h" }),
];

const EXAMPLE = `'[{"algorithm":"gcra","limit":100,"window":"1m"}]'`;

/** `strict={"algorithm":...}`, `strict=limits/strict.json`. */
const NAMED = /^(?<name>[\w.][\w. -]{0,39})=(?<rest>.+)$/s;

/**
 * Reads the values of `--limits`: `[NAME=]JSON`, `[NAME=]FILE` or `[NAME=]@FILE`, with a limit or a list of limits. Without a value: the default.
 * Throws a `CommandError`.
 */
export async function readPolicies(texts: readonly string[]): Promise<readonly NamedPolicy[]> {
  if (texts.length > MAX_POLICIES) {
    throw new CommandError(`--limits may be given ${MAX_POLICIES} times, got ${texts.length}`);
  }
  const policies =
    texts.length === 0 ? [namePolicy(DEFAULT_LIMITS)] : await Promise.all(texts.map(readNamed));
  return policies.map(({ name, limits }, i) => {
    const same = policies.slice(0, i).filter((other) => other.name === name).length;
    return { name: same === 0 ? name : `${name} (${same + 1})`, limits };
  });
}

async function readNamed(text: string): Promise<NamedPolicy> {
  const { name, rest = text } = NAMED.exec(text)?.groups ?? {};
  if (/^\s*[[{]/.test(rest)) {
    const limits = parseLimits(rest, "--limits");
    return { name: name ?? formatNames(limits), limits };
  }
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

/** Reads a limit, or a list of them, from JSON. Throws a `CommandError` whose message begins with `option`. */
export function parseLimits(json: string, option: string): readonly ReplayLimit[] {
  const value = readJson(json, option);
  try {
    const limits = [readPolicy(value)].flat();
    for (const limit of limits) requireReplayable(limit);
    return limits as readonly ReplayLimit[];
  } catch (error) {
    throw new CommandError(`${option}: ${messageOf(error)}`, undefined, { cause: error });
  }
}

function requireReplayable({ algorithm, per = "default" }: Limit): void {
  if (!(DIMENSIONS as readonly string[]).includes(per)) {
    throw new Error(`per must be "ip" or "global", or left out, got ${JSON.stringify(per)}`);
  }
  if (algorithm === "concurrency") {
    throw new Error(
      "concurrency is not supported, because a log does not record how long requests took: leave it out",
    );
  }
}

function readJson(json: string, option: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw new CommandError(
      `${option} must be JSON, as in ${EXAMPLE}: ${messageOf(error)}`,
      undefined,
      {
        cause: error,
      },
    );
  }
}

/** Names a policy by its limits. */
export function namePolicy(limits: readonly ReplayLimit[]): NamedPolicy {
  return { name: formatNames(limits), limits };
}

/** The names of the limits. */
function formatNames(limits: readonly ReplayLimit[]): string {
  return describeLimits(limits)
    .map(({ name }) => name)
    .join(", ");
}

/** Describes limits as a limiter reports them. */
export function describeLimits(
  limits: readonly ReplayLimit[],
): ReturnType<typeof createLimiter>["limits"] {
  return createLimiter({ limits }).limits;
}
