import type { Redis } from "ioredis";
import { recordKeyOf } from "../../packages/core/src/fleet/control/steps.ts";

const CONTROL = recordKeyOf("headgate");

/**
 * What a function answers, and which commands its database ran meanwhile, those of scripts among them, names in capitals. The
 * control record, which is read in the background from time to time, is no part of it.
 */
export async function commandsOf<T>(
  redis: Redis,
  act: () => Promise<T>,
): Promise<{ answer: T; commands: readonly (readonly string[])[] }> {
  const monitor = await redis.monitor();
  const commands: string[][] = [];
  const done = new Promise<void>((resolve) => {
    monitor.on("monitor", (_, [name = "", ...args]: string[], __, database: string) => {
      if (Number(database) !== (redis.options.db ?? 0)) return;
      if (name.toUpperCase() === "ECHO") resolve();
      else if (!args.includes(CONTROL)) commands.push([name.toUpperCase(), ...args]);
    });
  });
  const answer = await act();
  await redis.echo("done");
  await done;
  monitor.disconnect();
  return { answer, commands };
}
