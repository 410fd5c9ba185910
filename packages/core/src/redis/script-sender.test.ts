import { describe, expect, test } from "vitest";
import { probe } from "../operations/probe.ts";
import type { Operation } from "../store/store.ts";
import type { ClientPort } from "./client-port.ts";
import { createScriptRunner } from "./script-retry.ts";
import { createScriptSender } from "./script-sender.ts";
import { topologyOf } from "./topology.ts";

const REFUSAL = "CROSSSLOT Keys in request don't hash to the same slot";

/** A client whose server answers every script by a function. */
function clientOf(
  answer: (keys: readonly string[], args: readonly string[]) => Promise<unknown>,
): ClientPort {
  const run: ClientPort["evalBuffer"] = (_, count, ...all) =>
    answer(all.slice(0, count), all.slice(count));
  return { evalshaBuffer: run, evalBuffer: run };
}

/** Sends a call. */
function sendCall<Call>(
  add: ReturnType<typeof createScriptSender>,
  operation: Operation<Call>,
  call: Call,
): Promise<readonly number[]> {
  return new Promise((resolve, reject) => {
    add({
      operation: operation as unknown as Operation<never>,
      call: call as never,
      keys: [],
      weight: 1,
      clock: "",
      isAbandoned: false,
      resolve: resolve as (reply: unknown) => void,
      reject,
    });
  });
}

/** Calls with several keys. */
const several = { ...probe, keys: (keys: readonly string[]) => keys };

/** A server that answers each script by a function, and a sender to it. */
function start(answer: (keys: readonly string[]) => Promise<unknown>) {
  const sent: (readonly string[])[] = [];
  const client = clientOf((keys) => {
    sent.push(keys);
    return answer(keys);
  });
  const add = createScriptSender(createScriptRunner(client), topologyOf({}), () => 0);
  const send = (...keys: string[]): Promise<readonly number[]> =>
    sendCall(add, several as unknown as Operation<readonly string[]>, keys);
  return { sent, send };
}

/** A server that returns its clock if a call's window boundaries do not contain it, so that the call is sent again. */
function startWithClock(answer: (times: string) => unknown, onAsked = () => {}) {
  const sent: { readonly keys: readonly string[]; readonly times: string }[] = [];
  const client = clientOf(async (keys, [times = ""]) => {
    sent.push({ keys, times });
    onAsked();
    return answer(times);
  });
  const add = createScriptSender(createScriptRunner(client), topologyOf({}), () => 1_000);
  const operation: Operation<string> = {
    ...probe,
    boundaries: (_, clock, guess) => clock || String(guess()),
    encode: (_, __, ___, times = "") => ({ script: { sha1: "", source: "" }, args: [times] }),
    decode: (calls, reply) => calls.map(() => (Array.isArray(reply) ? [0, 1] : undefined)),
  };
  const send = (
    key: string,
    clock = "",
    state = { isAbandoned: false },
  ): Promise<readonly number[]> =>
    new Promise((resolve, reject) => {
      const pending = {
        operation: operation as Operation<never>,
        call: key as never,
        keys: [key],
        weight: 1,
      };
      const sent = { ...pending, clock, isAbandoned: false, resolve, reject };
      Object.defineProperty(sent, "isAbandoned", { get: () => state.isAbandoned });
      add(sent);
    });
  return { sent, send };
}

/** A server in cluster mode: a key's slot is its hash tag's. */
async function answerBySlot(keys: readonly string[]): Promise<number[]> {
  if (new Set(keys.map((key) => key.slice(0, 3))).size > 1) throw new Error(REFUSAL);
  return [7, ...keys.map(() => 1)];
}

test("a call made after the reply to another one is sent before the event loop's next turn", async () => {
  const { sent, send } = start(async (keys) => [7, ...keys.map(() => 1)]);
  await send("a");
  const second = send("b");
  await new Promise<void>((resolve) => process.nextTick(resolve));
  expect(sent).toEqual([["a"], ["b"]]);
  await second;
});

test("calls rejected with CROSSSLOT are sent again by hash slot, in order", async () => {
  const { sent, send } = start(answerBySlot);
  const keys = ["{a}1", "{b}1", "{a}2", "{c}1", "{b}2"];
  const replies = await Promise.all(keys.map((key) => send(key)));
  expect(replies).toEqual(keys.map(() => [7, 1]));
  expect(sent).toEqual([keys, ["{a}1", "{a}2"], ["{b}1", "{b}2"], ["{c}1"]]);
});

test("calls that wait when hash slots are detected are not rejected first", async () => {
  let refuse = (): void => {};
  const refused = new Promise<void>((resolve) => {
    refuse = resolve;
  });
  const { sent, send } = start(async (keys) => {
    if (keys.length > 1) await refused;
    return answerBySlot(keys);
  });
  const first = [send("{a}1"), send("{b}1")];
  await new Promise(setImmediate);
  const later = [send("{c}1"), send("{d}1")];
  // They wait for the end of this turn, in the queue of all keys.
  refuse();
  await Promise.all([...first, ...later]);
  expect(sent.filter((keys) => keys.length > 1)).toEqual([["{a}1", "{b}1"]]);
});

test("a call with keys in several hash slots fails alone", async () => {
  const { send } = start(answerBySlot);
  const [one, across, other] = await Promise.allSettled([
    send("{a}1"),
    send("{a}2", "{b}2"),
    send("{b}1"),
  ]);
  expect([one?.status, other?.status]).toEqual(["fulfilled", "fulfilled"]);
  expect(across).toMatchObject({
    reason: { code: "HEADGATE_STORE_MISCONFIGURED", cause: { message: REFUSAL } },
  });
});

test("a server with other hash slots receives one key at a time, and no call fails that succeeds alone", async () => {
  const { sent, send } = start(async (keys) => {
    if (new Set(keys).size > 1) throw new Error(REFUSAL);
    return [7, ...keys.map(() => 1)];
  });
  const keys = ["{a}1", "{b}1", "{a}2", "{a}1"];
  expect(await Promise.all(keys.map((key) => send(key)))).toEqual(keys.map(() => [7, 1]));
  const before = sent.length;
  await Promise.all(keys.map((key) => send(key)));
  expect(sent.slice(before).sort()).toEqual([["{a}1", "{a}1"], ["{a}2"], ["{b}1"]]);
});

test("calls to a server that rejects every script are not repeated without end", async () => {
  const { sent, send } = start(async () => {
    throw new Error(REFUSAL);
  });
  const results = await Promise.allSettled(["{a}1", "{b}1", "{a}2"].map((key) => send(key)));
  expect(results.map(({ status }) => status)).toEqual(new Array(3).fill("rejected"));
  expect(sent.length).toBeLessThan(9);
});

test("a script that failed while running is not repeated, and later calls are sent by hash slot", async () => {
  const { sent, send } = start(async (keys) => {
    await answerBySlot(keys).catch(() => {
      throw new Error(`${REFUSAL} (context='within LUA script')`);
    });
    return [7, ...keys.map(() => 1)];
  });
  const both = (): Promise<PromiseSettledResult<unknown>[]> =>
    Promise.allSettled([send("{a}1"), send("{b}1")]);
  expect((await both()).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(sent).toHaveLength(1);
  expect((await both()).map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
});

const clockIs = (clock: number) => (times: string) => (times === String(clock) ? [1] : clock);

test("a script that returns its clock is sent once more, with window boundaries for that time", async () => {
  const { sent, send } = startWithClock(clockIs(7_000));
  const [one, other] = await Promise.all([send("a"), send("b")]);
  expect([one, other]).toEqual(new Array(2).fill([0, 1]));
  expect(sent).toEqual([
    { keys: ["a", "b"], times: "1000" },
    { keys: ["a", "b"], times: "7000" },
  ]);
  // It is known now how far the server is ahead.
  await send("c");
  expect(sent.slice(2)).toEqual([{ keys: ["c"], times: "7000" }]);
});

test("a custom clock is not estimated", async () => {
  const { sent, send } = startWithClock(clockIs(9_000));
  await send("a", "9000");
  expect(sent).toEqual([{ keys: ["a"], times: "9000" }]);
});

test("abandoned calls are not sent again", async () => {
  const state = { isAbandoned: false };
  const { sent, send } = startWithClock(clockIs(7_000), () => {
    state.isAbandoned = true;
  });
  const given = send("a", "", state);
  given.catch(() => {});
  await send("b");
  expect(sent.map(({ keys }) => keys)).toEqual([["a", "b"], ["b"]]);
});

test("a server whose clock keeps jumping gets two calls, and no more", async () => {
  const { sent, send } = startWithClock((times) => Number(times) + 1_000);
  await expect(send("a")).rejects.toMatchObject({ code: "HEADGATE_BAD_REPLY" });
  expect(sent).toHaveLength(2);
});

test("a batch has its calls' keys in order, and a call without a valid reply fails alone", async () => {
  const sent: (readonly string[])[] = [];
  const client = clientOf(async (keys) => {
    sent.push(keys);
    return { a: [7, 1], c: [7, 2] };
  });
  const add = createScriptSender(createScriptRunner(client), topologyOf({}), () => 0);
  const step = {
    ...probe,
    keys: (name: string) => (name === "a" ? ["a", "a:log"] : [name]),
    decode: (calls: readonly string[], reply: unknown) =>
      calls.map((name) => (reply as Record<string, number[]>)[name]),
  };
  const settled = await Promise.allSettled(
    ["a", "b", "c"].map(
      (name) =>
        new Promise((resolve, reject) => {
          const call = name as never;
          const rest = { keys: [], weight: 1, clock: "", isAbandoned: false, resolve, reject };
          add({ operation: step as Operation<never>, call, ...rest });
        }),
    ),
  );
  expect(settled).toMatchObject([
    { value: [7, 1] },
    { reason: { code: "HEADGATE_BAD_REPLY" } },
    { value: [7, 2] },
  ]);
  expect(sent).toEqual([["a", "a:log", "b", "c"]]);
});

test("an error does not show a reply that is an object, because it may hold a password", async () => {
  const client = new (class Client {
    options = { password: "secret" };
  })();
  const { send } = start(async () => client);
  await expect(send("a")).rejects.toThrow(/^the script probe returned an object$/);
});

test("a call overtakes no earlier call of its shape, even if 1,000 other shapes were used between them", async () => {
  const sent: string[] = [];
  const client = clientOf((keys) => {
    sent.push(...keys);
    return new Promise(() => {});
  });
  const add = createScriptSender(createScriptRunner(client), topologyOf({}), () => 0);
  const shapes = Array.from({ length: 1_001 }, () => ({}));
  const send = (key: string, shape: object | undefined): void => {
    const operation = { ...probe, batchKey: () => shape } as unknown as Operation<never>;
    const call = key as never;
    const unused = { resolve() {}, reject() {} };
    add({ operation, call, keys: [key], weight: 1, clock: "", isAbandoned: false, ...unused });
  };
  // While four scripts are in flight, the next call of their shape waits.
  for (let i = 1; i <= 4; i += 1) {
    send(`${i}`, shapes[0]);
    await new Promise(setImmediate);
  }
  send("5", shapes[0]);
  for (const shape of shapes.slice(1)) send("of another shape", shape);
  send("6", shapes[0]);
  await new Promise(setImmediate);
  expect(sent.filter((key) => key !== "of another shape")).toEqual(["1", "2", "3", "4", "5", "6"]);
});

test.each(["CLUSTERDOWN The cluster is down", "READONLY You can't write", "OOM out of memory"])(
  "a call that the server rejects with %s is made once",
  async (message) => {
    const { sent, send } = start(() => Promise.reject(new Error(message)));
    await expect(send("a")).rejects.toMatchObject({ cause: { message } });
    expect(sent).toEqual([["a"]]);
  },
);

describe("a cluster", () => {
  /** Sends calls to a cluster of one server, on which `decide` shares scripts and `block` does not; `sent` has their keys. */
  function startOnCluster(refusal?: string) {
    const sent: string[] = [];
    const answer = (keys: readonly string[], args: readonly string[]) => {
      const undeclared = args.length > keys.length ? args.slice(1, Number(args[0])) : [];
      if (undeclared.length > 0 && refusal !== undefined) return Promise.reject(new Error(refusal));
      sent.push([...keys, ...undeclared].join(" "));
      return Promise.resolve([...keys, ...undeclared].map(() => [1]));
    };
    const topology = topologyOf({ slots: new Array(16_384).fill(["10.0.0.1:7000"]) });
    const add = createScriptSender(createScriptRunner(clientOf(answer)), topology, () => 0);
    const shape = {};
    const operationOf = (name: string, readsFirst: boolean) =>
      ({
        ...probe,
        name,
        kind: "counter",
        keys: (key: string) => [key],
        batchKey: () => shape,
        readsFirst: () => readsFirst,
        encode: (calls: readonly string[]) => ({
          script: { source: name, sha1: name },
          args: calls.map(() => "x"),
        }),
        decode: (calls: readonly string[]) => calls.map(() => [1]),
      }) as unknown as Operation<string>;
    const operations = { decide: operationOf("decide", true), block: operationOf("block", false) };
    const send = (name: keyof typeof operations, key: string) =>
      sendCall(add, operations[name], key);
    return { sent, send };
  }

  test("calls of one server share a script, and those of a key keep their order, whether they share it or not", async () => {
    const { sent, send } = startOnCluster();
    await Promise.all([
      send("decide", "a"),
      send("decide", "b"),
      send("block", "a"),
      send("decide", "a"),
      send("decide", "b"),
    ]);
    expect(sent).toEqual(["a b", "a", "a b"]);
  });

  test.each([REFUSAL, `${REFUSAL} (context='within LUA script')`, "ERR no", "NOPERM no"])(
    "that refuses undeclared keys with %s gets a script for each key",
    async (refusal) => {
      const { sent, send } = startOnCluster(refusal);
      await Promise.all([send("decide", "a"), send("decide", "b")]);
      expect(sent.toSorted()).toEqual(["a", "b"]);
      await Promise.all([send("decide", "a"), send("decide", "b")]);
      expect(sent.length).toBe(4);
    },
  );
});
