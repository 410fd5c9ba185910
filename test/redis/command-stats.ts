import type { Redis } from "ioredis";

/** What a server did with one command since its statistics were reset. */
export interface CommandStats {
  readonly calls: number;
  readonly microseconds: number;
  /** Calls that failed while they ran. */
  readonly failed: number;
  /** Calls that were refused before they ran. */
  readonly rejected: number;
}

const NOTHING: CommandStats = { calls: 0, microseconds: 0, failed: 0, rejected: 0 };

/** Reads a server's own statistics of a command. Commands that scripts call are counted too. */
export async function readCommandStats(redis: Redis, command: string): Promise<CommandStats> {
  const info = await redis.info("commandstats");
  const line = new RegExp(`^cmdstat_${command}:(.*)$`, "m").exec(info)?.[1];
  if (line === undefined) return NOTHING;
  const numbers = new Map(
    line
      .trim()
      .split(",")
      .map((pair) => pair.split("=") as [string, string]),
  );
  const read = (name: string): number => Number(numbers.get(name) ?? 0);
  return {
    calls: read("calls"),
    microseconds: read("usec"),
    failed: read("failed_calls"),
    rejected: read("rejected_calls"),
  };
}

/** Forgets all statistics of a server. */
export async function resetCommandStats(redis: Redis): Promise<void> {
  await redis.config("RESETSTAT");
}
