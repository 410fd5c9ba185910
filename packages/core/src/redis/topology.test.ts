import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { watchUnhandled } from "../../../../test/http/support/unhandled.ts";
import type { Topology } from "./topology.ts";
import { topologyOf } from "./topology.ts";

/** Of the key "foo" in the specification: https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/ */
const FOO = 12_182;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A table of slots in which one is served, and all others are holes. */
function tableWith<Owner>(slot: number, owner: Owner): (Owner | undefined)[] {
  const slots: (Owner | undefined)[] = [];
  slots[slot] = owner;
  return slots;
}

test("a client of one server has one group of keys and one node without a name", () => {
  const topology = topologyOf({ status: "ready", options: {} });
  expect([topology.hashSlotOf("foo"), topology.nodeOf("foo")]).toEqual([0, ""]);
  topology.refreshTopology(new Set([""]));
});

describe("a single server that rejected a script with CROSSSLOT", () => {
  test("after CROSSSLOT, a script has the keys of one hash slot", () => {
    const { hashSlotOf, nodeOf, scriptGroupOf, onCrossSlot } = topologyOf({ status: "ready" });
    const group = scriptGroupOf("hg:{foo}:api");
    expect(scriptGroupOf("hg:{bar}:api")).toBe(group);
    onCrossSlot(["hg:{foo}:api", "hg:{bar}:api"]);
    expect([hashSlotOf("hg:{foo}:api"), nodeOf("hg:{foo}:api")]).toEqual([FOO, ""]);
    expect(scriptGroupOf("hg:{foo}:api")).toBe(scriptGroupOf("hg:{foo}:other"));
    expect(scriptGroupOf("hg:{foo}:api")).not.toBe(scriptGroupOf("hg:{bar}:api"));
    expect(scriptGroupOf("hg:{foo}:api")).not.toBe(group);
  });

  test("after CROSSSLOT, all stores of the client send by hash slot, and other clients do not", () => {
    const client = { status: "ready", options: {} };
    topologyOf(client).onCrossSlot(["foo", "bar"]);
    expect(topologyOf(client).hashSlotOf("foo")).toBe(FOO);
    expect(topologyOf({ ...client }).hashSlotOf("foo")).toBe(0);
  });

  test("the key prefix of ioredis counts for the hash slot of a single server", () => {
    const tagged = topologyOf({ status: "ready", options: { keyPrefix: "{foo}:" } });
    tagged.onCrossSlot(["hg:{somebody}:api"]);
    expect(tagged.hashSlotOf("hg:{somebody}:api")).toBe(FOO);
  });
});

describe.each([
  ["ioredis", ["10.0.0.1:7000", "10.0.0.2:7000"]],
  ["node-redis", { master: { address: "10.0.0.1:7000" }, replicas: [] }],
])("the table of slots of %s", (_, owner) => {
  test("a cluster's topology has the hash slot and the primary of each key", () => {
    const { hashSlotOf, nodeOf } = topologyOf({ slots: tableWith(FOO, owner) });
    expect(hashSlotOf("hg:{foo}:api")).toBe(FOO);
    expect(nodeOf("hg:{foo}:api")).toBe("10.0.0.1:7000");
  });

  test("hash slots without a server have no node", () => {
    const { nodeOf } = topologyOf({ slots: tableWith(FOO, owner) });
    expect(nodeOf("bar")).toBe("");
  });

  test("a cluster client's table is read again for each key", () => {
    const slots = tableWith<unknown>(FOO, undefined);
    const { nodeOf } = topologyOf({ slots });
    expect(nodeOf("foo")).toBe("");
    slots[FOO] = owner;
    expect(nodeOf("foo")).toBe("10.0.0.1:7000");
  });
});

describe("scripts with undeclared keys on a cluster", () => {
  /** How many rejected scripts in a row make the client declare all keys. */
  function rejectionsUntilDeclared(topology: Topology): number {
    for (let rejections = 1; rejections < 100; rejections += 1) {
      topology.onUndeclaredKeys(false);
      if (topology.undeclaredKeyOf === undefined) return rejections;
    }
    throw new Error("undeclared keys are allowed however often they are rejected");
  }

  const start = (): Topology => topologyOf({ slots: tableWith(FOO, ["10.0.0.1:7000"]) });

  test("the first rejected script makes each key travel apart", () => {
    const topology = start();
    expect(topology.scriptGroupOf("foo")).toBe("10.0.0.1:7000");
    expect(rejectionsUntilDeclared(topology)).toBe(1);
    expect(topology.scriptGroupOf("foo")).toBe("foo");
  });

  test("after a script that ran, only several rejected scripts in a row make each key travel apart", () => {
    const topology = start();
    topology.onUndeclaredKeys(true);
    for (let i = 0; i < 20; i += 1) {
      topology.onUndeclaredKeys(false);
      topology.onUndeclaredKeys(true);
    }
    expect(rejectionsUntilDeclared(topology)).toBe(8);
  });

  test("undeclared keys are tried again after a minute, and one rejection is enough again", () => {
    const topology = start();
    topology.onUndeclaredKeys(true);
    rejectionsUntilDeclared(topology);
    // Scripts in flight are answered later.
    topology.onUndeclaredKeys(true);
    topology.onUndeclaredKeys(false);
    vi.advanceTimersByTime(59_999);
    expect(topology.undeclaredKeyOf).toBeUndefined();
    vi.advanceTimersByTime(1);
    expect(topology.undeclaredKeyOf?.("foo")).toBe("foo");
    expect(rejectionsUntilDeclared(topology)).toBe(1);
  });
});

test("a hash slot with an empty address list, or a shard without a primary, has no node", () => {
  expect(topologyOf({ slots: tableWith(FOO, []) }).nodeOf("foo")).toBe("");
  expect(topologyOf({ slots: tableWith(FOO, { replicas: [] }) }).nodeOf("foo")).toBe("");
});

test("the key prefix of ioredis counts for the hash slot, and its hash tag comes first", () => {
  const slots = tableWith(FOO, ["10.0.0.1:7000"]);
  const { hashSlotOf, nodeOf } = topologyOf({ slots, options: { keyPrefix: "{foo}:" } });
  expect(hashSlotOf("hg:{somebody}:api")).toBe(FOO);
  expect(nodeOf("hg:{somebody}:api")).toBe("10.0.0.1:7000");
  const other = topologyOf({ slots, options: { keyPrefix: "app:" } });
  expect(other.hashSlotOf("hg:{foo}:api")).toBe(FOO);
});

describe("a refresh of node-redis", () => {
  /** A client of five primaries. The frozen ones among them answer nothing. */
  function startClient(...frozen: number[]) {
    const rediscovered: string[] = [];
    const pings: string[] = [];
    const thaws: (() => void)[] = [];
    const masters = [1, 2, 3, 4, 5].map((n) => ({ address: `10.0.0.${n}:7000`, n }));
    const client = {
      slots: [],
      masters,
      nodeClient: async ({ address, n }: (typeof masters)[number]) => ({
        address,
        ping() {
          pings.push(address);
          if (!frozen.includes(n)) return Promise.resolve();
          return new Promise<void>((resolve) => {
            thaws.push(resolve);
          });
        },
      }),
      _slots: {
        rediscover: async (other: unknown) => {
          rediscovered.push((other as { readonly address: string }).address);
        },
      },
    };
    const { refreshTopology } = topologyOf(client);
    return {
      rediscovered,
      pings,
      thaws,
      async refresh(...down: number[]) {
        refreshTopology(new Set(down.map((n) => `10.0.0.${n}:7000`)));
        await vi.advanceTimersByTimeAsync(0);
      },
    };
  }

  test("a refresh of node-redis does not ask servers that are down", async () => {
    const { pings, rediscovered, refresh } = startClient();
    await refresh(1, 2, 4);
    expect(pings).toEqual(["10.0.0.3:7000", "10.0.0.5:7000"]);
    expect(rediscovered).toEqual(["10.0.0.3:7000"]);
  });

  test("a refresh of node-redis uses a server that answers, and does not ask a frozen one again", async () => {
    const { pings, rediscovered, thaws, refresh } = startClient(1, 2);
    await refresh(2);
    expect(rediscovered).toEqual(["10.0.0.3:7000"]);
    await refresh(2);
    expect(rediscovered).toHaveLength(2);
    expect(pings.filter((address) => address === "10.0.0.1:7000")).toHaveLength(1);
    thaws[0]?.();
    await vi.advanceTimersByTimeAsync(0);
    await refresh(2);
    expect(pings.filter((address) => address === "10.0.0.1:7000")).toHaveLength(2);
  });

  test("a refresh of node-redis asks no server while all are down or silent, and works again when one answers", async () => {
    const { rediscovered, thaws, refresh } = startClient(1, 2, 3, 4, 5);
    await refresh(1, 2, 3, 4, 5);
    await refresh(1);
    await refresh(1);
    expect(rediscovered).toEqual([]);
    thaws[2]?.();
    await vi.advanceTimersByTimeAsync(0);
    expect(rediscovered).toEqual(["10.0.0.4:7000"]);
  });

  test("a refresh does nothing if the client lacks the methods", async () => {
    const settled = watchUnhandled();
    const rediscover = vi.fn();
    const clients = [
      { slots: [] },
      { slots: [], masters: [{ address: "one" }] },
      { slots: [], masters: [{ address: "one" }], _slots: { rediscover } },
      { slots: [], _slots: { rediscover } },
    ];
    for (const client of clients) {
      expect(topologyOf(client).refreshTopology(new Set())).toBeUndefined();
    }
    await vi.advanceTimersByTimeAsync(0);
    vi.useRealTimers();
    await settled();
    expect(rediscover).not.toHaveBeenCalled();
  });
});

test("a refresh of ioredis uses the client's own method", () => {
  const refreshSlotsCache = vi.fn();
  topologyOf({ slots: [], refreshSlotsCache }).refreshTopology(new Set(["10.0.0.1:7000"]));
  expect(refreshSlotsCache).toHaveBeenCalledTimes(1);
});

describe("a Sentinel client", () => {
  function startClient() {
    const disconnect = vi.fn();
    const client = { status: "ready", options: { sentinels: [{}] }, disconnect };
    const { refreshTopology } = topologyOf(client);
    return { client, disconnect, refresh: () => refreshTopology(new Set([""])) };
  }

  test("a Sentinel client is reconnected at most every five seconds", async () => {
    const { disconnect, refresh } = startClient();
    for (let second = 0; second <= 10; second += 1) {
      refresh();
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(disconnect.mock.calls).toEqual([[true], [true], [true]]);
  });

  test.each(["connecting", "reconnecting", "wait", "close", "end"])(
    "a Sentinel client is not reconnected while it is %s, and that does not count as an attempt",
    (status) => {
      const { client, disconnect, refresh } = startClient();
      client.status = status;
      refresh();
      expect(disconnect).not.toHaveBeenCalled();
      client.status = "connect";
      refresh();
      expect(disconnect).toHaveBeenCalledTimes(1);
    },
  );
});
