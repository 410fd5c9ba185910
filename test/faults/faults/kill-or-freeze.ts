import type { Random } from "../../conformance/random/random.ts";
import type { RedisProcess } from "../../support/redis-process.ts";

/** Stops a primary at random in one of two ways: killed, which closes its connections, or frozen, which leaves them open. */
export async function killOrFreeze(server: RedisProcess, random: Random): Promise<void> {
  if (random.chance(0.5)) server.freeze();
  else await server.kill();
}
