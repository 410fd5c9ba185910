import { setTimeout as delay } from "node:timers/promises";
import { freePort, startRedis } from "./start-redis.mjs";

const SLOTS = 16_384;
const READY_WITHIN_MS = 20_000;

/** Starts a cluster of primaries on loopback that ends with this process. */
export async function startCluster(size) {
  const nodes = [];
  for (let i = 0; i < size; i += 1) nodes.push(await startNode());
  for (const [i, { control }] of nodes.entries()) {
    await control.call("CLUSTER", "SET-CONFIG-EPOCH", i + 1);
    for (const { port, busPort } of nodes.slice(0, i)) {
      await control.call("CLUSTER", "MEET", "127.0.0.1", port, busPort);
    }
    const [first, end] = [i, i + 1].map((n) => Math.round((n * SLOTS) / size));
    await control.call("CLUSTER", "ADDSLOTSRANGE", first, end - 1);
  }
  await waitUntilReady(nodes);
  return {
    controls: nodes.map(({ control }) => control),
    ports: nodes.map(({ port }) => port),
    close: () => Promise.all(nodes.map((node) => node.close())),
  };
}

async function startNode() {
  const busPort = await freePort();
  // biome-ignore format: one option, one line
  const args = [
    "--cluster-enabled", "yes",
    "--cluster-config-file", "nodes.conf",
    "--cluster-port", String(busPort),
  ];
  return { ...(await startRedis({ args })), busPort };
}

async function waitUntilReady(nodes) {
  const until = performance.now() + READY_WITHIN_MS;
  for (const { control } of nodes) {
    while (!(await isReady(control, nodes.length))) {
      if (performance.now() > until) throw new Error("the cluster did not become ready");
      await delay(50);
    }
  }
}

async function isReady(control, size) {
  const info = await control.call("CLUSTER", "INFO");
  return info.includes("cluster_state:ok") && info.includes(`cluster_known_nodes:${size}`);
}
