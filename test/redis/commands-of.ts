import type { Redis } from "ioredis";
import { createClient } from "redis";
import { controlKey } from "../../packages/core/src/control/operations.ts";

const CONTROL = controlKey("headgate");

/**
 * What a function answers, and which commands its database ran meanwhile, those of scripts among them, names in capitals. The
 * control record, which is read in the background from time to time, is no part of it.
 */
export async function commandsOf<T>(
  redis: Redis,
  act: () => Promise<T>,
): Promise<{ answer: T; commands: readonly (readonly string[])[] }> {
  const { path, host, port, db = 0 } = redis.options;
  // Not ioredis's own: it fails if other suites' commands arrive together with the answer to MONITOR.
  const monitor = createClient({
    socket:
      path === undefined ? { host: host as string, port: port as number } : { path, tls: false },
  });
  await monitor.connect();
  const commands: string[][] = [];
  let end = (): void => {};
  const done = new Promise<void>((resolve) => {
    end = resolve;
  });
  await monitor.monitor((line) => {
    const [, database, command = ""] = /^\S+ \[(\d+) [^\]]*\] "(.*)"$/s.exec(String(line)) ?? [];
    const [name = "", ...args] = command.split('" "');
    if (Number(database) !== db) return;
    if (name.toUpperCase() === "ECHO") end();
    else if (!args.includes(CONTROL)) commands.push([name.toUpperCase(), ...args]);
  });
  const answer = await act();
  await redis.echo("done");
  await done;
  monitor.destroy();
  return { answer, commands };
}
