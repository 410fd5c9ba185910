import type { ChildProcess } from "node:child_process";
import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { gcra } from "@headgate/core";
import type { Admin } from "@headgate/core/admin";
import { createAdmin } from "@headgate/core/admin";
import type { RedisClient } from "@headgate/core/redis";
import { redisStore } from "@headgate/core/redis";
import { Cluster, Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { blocksOf, page } from "../docs/markdown.ts";
import type { RedisCluster } from "../support/redis-cluster.ts";
import { startCluster } from "../support/redis-cluster.ts";
import type { RedisProcess } from "../support/redis-process.ts";
import { startRedis } from "../support/redis-process.ts";

/*
 * Eight processes hold leases of a minute, and cache denials. Five of them make requests all the time; three make some, are
 * idle, and make some again when an order is in force. From the time that the operator was given, none of them uses its leases
 * or cached denials.
 */

const BUSY = 5;
const IDLE = 3;

const script = fileURLToPath(new URL("order-follower.mjs", import.meta.url));
const api = { name: "api", limits: gcra({ limit: 100_000, window: "1h" }) };

/** The time of a request in milliseconds since the epoch, whether it was allowed, and the source of the decision. */
type Decided = readonly [at: number, allowed: boolean, source: string];

class Follower {
  readonly child: ChildProcess;
  readonly #gone: Promise<never>;

  constructor(deployment: object) {
    this.child = fork(script, [JSON.stringify(deployment)], { execArgv: [] });
    this.#gone = once(this.child, "exit").then(([code]): never => {
      throw new Error(`a process ended with code ${code}`);
    });
    this.#gone.catch(() => {});
  }

  async next(): Promise<readonly Decided[]> {
    const [message] = await Promise.race([once(this.child, "message"), this.#gone]);
    return message;
  }

  tell(order: string): Promise<readonly Decided[]> {
    const answer = this.next();
    this.child.send(order);
    return answer;
  }
}

/** A Redis server or cluster, and how processes and operators connect to it. */
interface Deployment {
  readonly arguments: object;
  readonly client: RedisClient;
  stop(): Promise<unknown>;
}

async function standalone(): Promise<Deployment> {
  const server: RedisProcess = await startRedis();
  const client = new Redis(server.socket);
  // With the permissions that applications have.
  const [, acl] = blocksOf([page("docs/reference/redis.md")], "text");
  const [command = "", ...args] = acl?.text.trim().split(" ") ?? [];
  await client.call(command, ...args);
  const user = { username: "headgate", password: "secret", enableReadyCheck: false };
  return {
    arguments: { socket: server.socket, user },
    client,
    async stop() {
      client.disconnect();
      await server.stop();
    },
  };
}

async function inCluster(): Promise<Deployment> {
  const cluster: RedisCluster = await startCluster();
  const client = new Cluster([...cluster.addresses]);
  return {
    arguments: { cluster: cluster.addresses },
    client,
    async stop() {
      client.disconnect();
      await cluster.stop();
    },
  };
}

describe.each([
  ["one server, with an application's permissions", standalone],
  ["a cluster", inCluster],
])("eight processes on %s", (_, start) => {
  let deployment: Deployment;
  let admin: Admin;
  let followers: readonly Follower[] = [];

  const busy = () => followers.slice(0, BUSY);
  const idle = () => followers.slice(BUSY);
  const sendAll = (some: readonly Follower[], order: string) =>
    Promise.all(some.map((follower) => follower.tell(order)));

  beforeAll(async () => {
    deployment = await start();
    admin = createAdmin(redisStore(deployment.client));
    followers = Array.from({ length: BUSY + IDLE }, () => new Follower(deployment.arguments));
    await Promise.all(followers.map((follower) => follower.next()));
  });
  afterAll(async () => {
    for (const { child } of followers) child.kill("SIGKILL");
    await deployment?.stop();
  });

  /** The decisions of each process from a time on, which must have passed. */
  async function decidedFrom(moment: Date): Promise<readonly (readonly Decided[])[]> {
    await delay(Math.max(0, moment.getTime() - Date.now()) + 50);
    for (let i = 0; i < 5; i += 1) await sendAll(idle(), "request");
    await delay(200);
    const answers = await sendAll(followers, "report");
    const since = answers.map((all) => all.filter(([at]) => at >= moment.getTime()));
    for (const decided of since) expect(decided.length).toBeGreaterThan(4);
    return since;
  }

  test("eight processes follow a block, and its end, from the time returned to the operator", async () => {
    await sendAll(followers, "fillLease");
    await sendAll(busy(), "begin");
    await sendAll(followers, "report");
    const began = Date.now();
    const { before, after, effectiveAt } = await admin.block(api, "ann", "1h");
    expect([before.blocked, after.blocked]).toEqual([false, true]);
    expect(effectiveAt.getTime() - began).toBeGreaterThanOrEqual(2_000);
    const whenBlocked = (await decidedFrom(effectiveAt)).flat();
    expect(whenBlocked.filter(([, allowed]) => allowed)).toEqual([]);
    // Denials are cached by now, so busy processes make no call to the store.
    expect(whenBlocked.some(([, , source]) => source === "deny-cache")).toBe(true);

    const unblocked = await admin.unblock(api, "ann");
    const whenFree = (await decidedFrom(unblocked.effectiveAt)).flat();
    expect(whenFree.filter(([, allowed]) => !allowed)).toEqual([]);
    await sendAll(followers, "end");
  });
});
