import { createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import { expect, onTestFinished, test } from "vitest";
import { connectCluster } from "../cluster/cluster-clients.ts";
import { startCluster } from "../support/redis-cluster.ts";

const MINUTE = 60_000;

test("all servers know the success rate of an upstream over five minutes, on a cluster, and switch to a fallback below 50 %", async () => {
  const cluster = await startCluster();
  onTestFinished(() => cluster.stop());
  let now = 1_800_000_000_000;
  const options = {
    name: "payments",
    window: "5m",
    minimumSuccessRate: 0.5,
    minimumCalls: 20,
    storeTimeout: "10s",
    flushInterval: 0,
  } as const;
  const servers = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const { client, close } = await connectCluster["ioredis 6"](cluster.addresses);
      const breaker = createBreaker({
        ...options,
        store: redisStore(client, { clock: () => now }),
      });
      onTestFinished(async () => {
        await breaker.close();
        await close();
      });
      return breaker.for("eu");
    }),
  );
  const [first, second, third] = servers as [Server, Server, Server];
  type Server = (typeof servers)[number];

  async function call(server: Server, isFine: boolean): Promise<string> {
    return server.run(
      async () => {
        if (!isFine) throw new Error("upstream");
        return "answer";
      },
      { fallback: ({ reason }) => reason },
    );
  }

  /** Each server has its share of the calls, a minute apart: six of each, half of them fail. */
  for (let minute = 0; minute < 4; minute += 1) {
    for (const server of servers) {
      expect(await call(server, true)).toBe("answer");
      expect(await call(server, false)).toBe("error");
    }
    now += MINUTE;
  }
  // Calls do not wait for reports; the snapshot of the process that reported last arrives after its report.
  for (const server of servers.toReversed()) {
    expect(await server.snapshot()).toMatchObject({
      state: "closed",
      calls: 24,
      failures: 12,
      successRate: 0.5,
    });
  }

  // One failure more, of one server, and none calls any longer.
  expect(await call(first, false)).toBe("error");
  expect(await first.snapshot()).toMatchObject({ state: "open", calls: 25, failures: 13 });
  for (const server of [second, third, first]) expect(await call(server, true)).toBe("open");

  // The window of five minutes slides: older calls do not count in any process.
  now += 2 * MINUTE - 30_000;
  expect(await third.snapshot()).toMatchObject({ calls: 19, failures: 10 });

  // Trial calls of all servers together close it for all.
  const trials = [first, second, third, first, second];
  for (const server of trials) expect(await call(server, true)).toBe("answer");
  expect(await third.snapshot()).toMatchObject({ state: "closed", calls: 0, successRate: null });

  // All keys of a target are in one hash slot, and expire.
  const { nodes } = cluster;
  const keys = (await Promise.all(nodes.map((node) => node.admin.command("KEYS", "*")))).flat();
  expect(keys).toHaveLength(2);
  for (const key of keys) expect(key).toMatch(/^hg:\{eu\}:breaker\/payments/);
  const node = await cluster.nodeOf(String(keys[0]));
  for (const key of keys)
    expect(Number(await node.admin.command("PTTL", String(key)))).toBeGreaterThan(0);
}, 60_000);
