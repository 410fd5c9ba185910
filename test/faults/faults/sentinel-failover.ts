import type { RedisSentinel } from "../../support/redis-sentinel.ts";
import { startSentinel } from "../../support/redis-sentinel.ts";
import type { Fault, Target } from "./fault.ts";
import { silence } from "./silence.ts";

interface SentinelTarget extends Target {
  readonly sentinel: RedisSentinel;
}

export const sentinelFailover: Fault<SentinelTarget> = {
  name: "Sentinel failover",
  title: "the primary killed or frozen, Sentinels promote a replica",
  async start() {
    const sentinel = await startSentinel();
    return {
      place: {
        kind: "sentinel",
        ports: sentinel.addresses.map(({ port }) => port),
        master: sentinel.name,
      },
      sentinel,
      close: () => sentinel.stop(),
    };
  },
  isBrief: true,
  async breakIt({ sentinel }, random) {
    const primary = await sentinel.primary();
    await silence(primary.process, random);
    return async () => {
      await sentinel.waitForFailover(primary);
    };
  },
  forgets: "last writes",
  degrades: "all",
  isOutage: true,
};
