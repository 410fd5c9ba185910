import type { Limit } from "@headgate/core";
import { gcra, readPolicy, slidingLog } from "@headgate/core";
import { Failure, messageOf } from "./failure.ts";

/** The dimensions a replay knows the subject of: the client, under either name, and everybody. */
const DIMENSIONS = ["default", "ip", "global"] as const;

export type ReplayLimit = Limit<(typeof DIMENSIONS)[number]>;

/** Enough for people who read; too little for a program that takes everything, whether at once or bit by bit. */
export const DEFAULT_LIMITS: readonly ReplayLimit[] = [
  gcra({ limit: 30, window: "1m" }),
  slidingLog({ limit: 100, window: "1h" }),
];

/** Reads `--limits`: a limit, or a list of them, as JSON. Throws a `Failure`. */
export function parseLimits(json: string): readonly ReplayLimit[] {
  const value = readJson(json);
  try {
    const limits = [readPolicy(value)].flat();
    const stranger = limits.find(
      ({ per = "default" }) => !(DIMENSIONS as readonly string[]).includes(per),
    );
    if (stranger !== undefined) {
      throw new Error(
        `per must be "ip" or "global", or left out, got ${JSON.stringify(stranger.per)}`,
      );
    }
    return limits as readonly ReplayLimit[];
  } catch (error) {
    throw new Failure(`--limits: ${messageOf(error)}`, 1, { cause: error });
  }
}

function readJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw new Failure(
      `--limits must be JSON, as in '[{"algorithm":"gcra","limit":100,"window":"1m"}]': ${messageOf(error)}`,
      1,
      { cause: error },
    );
  }
}
