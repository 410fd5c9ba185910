import type { RedisSentinel } from "../../support/redis-sentinel.ts";
import { startSentinel } from "../../support/redis-sentinel.ts";
import type { Fault, Target } from "./fault.ts";
import { killOrFreeze } from "./kill-or-freeze.ts";

interface SentinelTarget extends Target {
  readonly sentinel: RedisSentinel;
}

export const sentinelFailover: Fault<SentinelTarget> = {
  name: "Sentinel failover",
  title: "the primary killed or frozen, Sentinels promote a replica",
  async start() {
    const sentinel = await startSentinel();
    return {
      endpoint: {
        kind: "sentinel",
        ports: sentinel.addresses.map(({ port }) => port),
        master: sentinel.name,
      },
      sentinel,
      close: () => sentinel.stop(),
    };
  },
  isBrief: true,
  async inject({ sentinel }, random) {
    const primary = await sentinel.primary();
    await killOrFreeze(primary.process, random);
    return async () => {
      await sentinel.waitForFailover(primary);
    };
  },
  loses: "last writes",
  degrades: "all",
  isOutage: true,
};
