import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
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

test("a client of one server has one slot and one nameless node, and nothing to find out", () => {
  const topology = topologyOf({ status: "ready", options: {} });
  expect([topology.hashSlotOf("foo"), topology.nodeOf("foo")]).toEqual([0, ""]);
  topology.refreshTopology(new Set([""]));
});

describe("a server that was found to have slots", () => {
  test("has those of the specification, one for a script", () => {
    const { hashSlotOf, nodeOf, scriptGroupOf, onCrossSlot } = topologyOf({ status: "ready" });
    const place = scriptGroupOf("hg:{foo}:api");
    expect(scriptGroupOf("hg:{bar}:api")).toBe(place);
    onCrossSlot(["hg:{foo}:api", "hg:{bar}:api"]);
    expect([hashSlotOf("hg:{foo}:api"), nodeOf("hg:{foo}:api")]).toEqual([FOO, ""]);
    expect(scriptGroupOf("hg:{foo}:api")).toBe(scriptGroupOf("hg:{foo}:other"));
    expect(scriptGroupOf("hg:{foo}:api")).not.toBe(scriptGroupOf("hg:{bar}:api"));
    expect(scriptGroupOf("hg:{foo}:api")).not.toBe(place);
  });

  test("has them for all stores on its client, and not on others", () => {
    const client = { status: "ready", options: {} };
    topologyOf(client).onCrossSlot(["foo", "bar"]);
    expect(topologyOf(client).hashSlotOf("foo")).toBe(FOO);
    expect(topologyOf({ ...client }).hashSlotOf("foo")).toBe(0);
  });

  test("is asked with what ioredis puts in front of a key", () => {
    const tagged = topologyOf({ status: "ready", options: { keyPrefix: "{foo}:" } });
    tagged.onCrossSlot(["hg:{somebody}:api"]);
    expect(tagged.hashSlotOf("hg:{somebody}:api")).toBe(FOO);
  });
});

describe.each([
  ["ioredis", ["10.0.0.1:7000", "10.0.0.2:7000"]],
  ["node-redis", { master: { address: "10.0.0.1:7000" }, replicas: [] }],
])("the table of slots of %s", (_, owner) => {
  test("tells a key's slot, by its hash tag, and the primary that has it", () => {
    const { hashSlotOf, nodeOf } = topologyOf({ slots: tableWith(FOO, owner) });
    expect(hashSlotOf("hg:{foo}:api")).toBe(FOO);
    expect(nodeOf("hg:{foo}:api")).toBe("10.0.0.1:7000");
  });

  test("has holes, which are nobody's", () => {
    const { nodeOf } = topologyOf({ slots: tableWith(FOO, owner) });
    expect(nodeOf("bar")).toBe("");
  });

  test("is read anew for each key", () => {
    const slots = tableWith<unknown>(FOO, undefined);
    const { nodeOf } = topologyOf({ slots });
    expect(nodeOf("foo")).toBe("");
    slots[FOO] = owner;
    expect(nodeOf("foo")).toBe("10.0.0.1:7000");
  });
});

test("an empty list of addresses is nobody's, and so is a shard without a primary", () => {
  expect(topologyOf({ slots: tableWith(FOO, []) }).nodeOf("foo")).toBe("");
  expect(topologyOf({ slots: tableWith(FOO, { replicas: [] }) }).nodeOf("foo")).toBe("");
});

test("what ioredis puts in front of a key counts, and its hash tag comes first", () => {
  const slots = tableWith(FOO, ["10.0.0.1:7000"]);
  const { hashSlotOf, nodeOf } = topologyOf({ slots, options: { keyPrefix: "{foo}:" } });
  expect(hashSlotOf("hg:{somebody}:api")).toBe(FOO);
  expect(nodeOf("hg:{somebody}:api")).toBe("10.0.0.1:7000");
  const other = topologyOf({ slots, options: { keyPrefix: "app:" } });
  expect(other.hashSlotOf("hg:{foo}:api")).toBe(FOO);
});

describe("a refresh of node-redis", () => {
  /** A client of five primaries, some of which are frozen: they answer nothing, as long as they are. */
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

  test("asks none of the servers that are down", async () => {
    const { pings, rediscovered, refresh } = startClient();
    await refresh(1, 2, 4);
    expect(pings).toEqual(["10.0.0.3:7000", "10.0.0.5:7000"]);
    expect(rediscovered).toEqual(["10.0.0.3:7000"]);
  });

  test("takes one that answers, though nobody knows yet that another is frozen, which is asked no more", async () => {
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

  test("asks nobody when all are down or silent, and goes on when one answers", async () => {
    const { rediscovered, thaws, refresh } = startClient(1, 2, 3, 4, 5);
    await refresh(1, 2, 3, 4, 5);
    await refresh(1);
    await refresh(1);
    expect(rediscovered).toEqual([]);
    thaws[2]?.();
    await vi.advanceTimersByTimeAsync(0);
    expect(rediscovered).toEqual(["10.0.0.4:7000"]);
  });

  test("does not fail where the client has no such methods", async () => {
    topologyOf({ slots: [] }).refreshTopology(new Set());
    topologyOf({ slots: [], masters: [{ address: "one" }] }).refreshTopology(new Set());
    await vi.advanceTimersByTimeAsync(0);
  });
});

test("a refresh of ioredis is its own", () => {
  const refreshSlotsCache = vi.fn();
  topologyOf({ slots: [], refreshSlotsCache }).refreshTopology(new Set(["10.0.0.1:7000"]));
  expect(refreshSlotsCache).toHaveBeenCalledTimes(1);
});

describe("a client that asks Sentinels", () => {
  function startClient() {
    const disconnect = vi.fn();
    const client = { status: "ready", options: { sentinels: [{}] }, disconnect };
    const { refreshTopology } = topologyOf(client);
    return { client, disconnect, refresh: () => refreshTopology(new Set([""])) };
  }

  test("connects anew, at most each five seconds", async () => {
    const { disconnect, refresh } = startClient();
    for (let second = 0; second <= 10; second += 1) {
      refresh();
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(disconnect.mock.calls).toEqual([[true], [true], [true]]);
  });

  test.each(["connecting", "reconnecting", "wait", "close", "end"])(
    "is left alone while it is %s, and that does not count",
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
