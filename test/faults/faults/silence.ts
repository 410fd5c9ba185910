import type { Random } from "../../conformance/random/random.ts";
import type { RedisProcess } from "../../support/redis-process.ts";

/** Takes a primary away: dead, which its clients hear of, or frozen, which nobody tells them. */
export async function silence(server: RedisProcess, random: Random): Promise<void> {
  if (random.chance(0.5)) server.freeze();
  else await server.kill();
}
