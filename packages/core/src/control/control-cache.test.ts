import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { watchWarnings } from "../../../../test/http/support/warnings.ts";
import { flushMicrotasks } from "../../../../test/support/held-store.ts";
import { sendBy } from "../../../../test/support/send-by.ts";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { gcra } from "../algorithms/gcra.ts";
import { HeadgateError } from "../common/errors.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import type { Limiter, LimiterOptions } from "../limiter/limiter.ts";
import { redisBackend } from "../limiter/redis-limiter.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { Operation } from "../store/store.ts";
import { brandStore, requireStore } from "../store/store.ts";
import type { ControlReply, ReadControlCall } from "./operations.ts";
import type { ControlRecord, Invalidation } from "./record.ts";
import { NO_RECORD } from "./record.ts";
import { formatRecord } from "./record-text.ts";

const FROM = 1_900_000_000_000_000;
const HOUR = fixedWindow({ limit: 1, window: "1h" });
const LEASED = gcra({ limit: 1_000, window: "1000h" });

const { setImmediate: setRealImmediate } = globalThis;

/** Lets warnings be emitted. */
const nextTurn = (): Promise<void> => new Promise((resolve) => void setRealImmediate(resolve));

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
  vi.spyOn(Math, "random").mockReturnValue(0);
});
afterEach(async () => {
  await nextTurn();
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A server in this process with a control record, which the test writes. */
function startServer() {
  const memory = requireStore(memoryStore({ clock: Date.now }));
  const asked: string[] = [];
  const state = { text: "", failure: undefined as Error | undefined, gate: Promise.resolve() };
  function readText({ knownVersion }: ReadControlCall): ControlReply {
    const isKnown =
      knownVersion !== undefined &&
      (knownVersion > 0 ? knownVersion === Number(state.text.slice(0, 16)) : state.text === "");
    const now = Date.now() * 1_000;
    return isKnown
      ? { now, state: "unchanged", text: "" }
      : { now, state: "changed", text: state.text };
  }
  const store = brandStore({
    owner: {},
    prefix: "hg",
    backend: redisBackend,
    transport: {
      send: (sent) => sendBy(store.run)(sent),
      hashSlotOf: () => 0,
      isCrossSlotError: () => false,
      nodeOf: () => "",
      refreshTopology() {},
      followsControl: true,
      lastError: () => undefined,
    },
    now: () => performance.now() * 1_000,
    async run<Call, Reply>(operation: Operation<Call, Reply>, call: Call) {
      asked.push(operation.name);
      const { gate } = state;
      const reply =
        operation.name === "read-control"
          ? (readText(call as ReadControlCall) as Reply)
          : await memory.run(operation, call);
      await gate;
      if (operation.name === "read-control" && state.failure !== undefined) throw state.failure;
      return reply;
    },
  });
  return {
    store,
    memory,
    state,
    write(record: Partial<ControlRecord>) {
      state.text = formatRecord({ ...NO_RECORD, version: FROM, ...record });
    },
    /** Answers are on their way until the function that is returned is called. */
    hold(): () => void {
      let open = (): void => {};
      state.gate = new Promise((resolve) => {
        open = resolve;
      });
      return () => {
        state.gate = Promise.resolve();
        open();
      };
    },
    /** What was asked since the last time. */
    asked: () => asked.splice(0),
    limiter: (options: Partial<LimiterOptions> = {}) =>
      createLimiter({ name: "api", limits: HOUR, store, storeTimeout: "1m", ...options }),
  };
}

const order = (part: Partial<Invalidation> = {}): Invalidation => ({
  limiter: "api",
  subject: { default: "ann" },
  kind: "reset",
  from: FROM,
  ...part,
});

/** Lets a limiter read the current record in the background; earlier denials stay cached. */
async function readAgain(limiter: Limiter): Promise<void> {
  vi.advanceTimersByTime(810);
  await limiter.peek("somebody");
  await flushMicrotasks();
  vi.advanceTimersByTime(1);
}

describe("the control record is read", () => {
  test("before the first decision, then about every second in the background, and never without decisions", async () => {
    const { limiter, asked, hold } = startServer();
    const api = limiter();
    await api.consume("ann");
    expect(asked()).toEqual(["read-control", "decide"]);
    vi.advanceTimersByTime(799);
    await api.peek("ann");
    expect(asked()).toEqual(["peek"]);
    vi.advanceTimersByTime(1);
    const open = hold();
    void api.peek("ann");
    void api.peek("ann");
    expect(asked()).toEqual(["read-control", "peek", "peek"]);
    open();
    await flushMicrotasks();
    vi.advanceTimersByTime(60_000);
    await flushMicrotasks();
    expect(asked()).toEqual([]);
    await api.close();
  });

  test("before a decision if it is older than two seconds", async () => {
    const { limiter, asked, hold } = startServer();
    const api = limiter();
    await api.peek("ann");
    vi.advanceTimersByTime(1_900);
    asked();
    const open = hold();
    const waiting = [api.peek("ann"), api.consume("bob")];
    await flushMicrotasks();
    expect(asked()).toEqual(["read-control"]);
    open();
    await Promise.all(waiting);
    expect(asked()).toEqual(["peek", "decide"]);
    await api.close();
  });

  test("once for all limiters on a client and prefix, and for each prefix", async () => {
    const { limiter, asked, store } = startServer();
    const limiters = [
      limiter(),
      limiter({ name: "other", storeTimeout: "2s" }),
      limiter({ name: "third", extends: limiter() }),
    ];
    await limiters[0]?.peek("ann");
    asked();
    for (let i = 0; i < 3; i += 1) {
      vi.advanceTimersByTime(1_100);
      for (const one of limiters) await one.peek("ann");
      expect(asked().filter((name) => name === "read-control")).toHaveLength(1);
    }
    const elsewhere = limiter({ store: { ...store, prefix: "other" } });
    await elsewhere.peek("ann");
    expect(asked()).toContain("read-control");
    for (const one of [...limiters, elsewhere]) await one.close();
  });

  test("and waited for once, even if the read is slow", async () => {
    const { limiter, asked, hold } = startServer();
    const api = limiter();
    const open = hold();
    const first = api.peek("ann");
    vi.advanceTimersByTime(5_000);
    open();
    expect(await first).toMatchObject({ source: "store" });
    expect(asked()).toEqual(["read-control", "peek"]);
    await api.close();
  });

  test("for at most each caller's own storeTimeout", async () => {
    const { limiter, hold } = startServer();
    const patient = limiter();
    const hasty = limiter({ name: "hasty", storeTimeout: 50 });
    const open = hold();
    const answers = [patient.peek("ann"), hasty.peek("ann")];
    const [, second] = answers;
    await vi.advanceTimersByTimeAsync(51);
    await vi.advanceTimersByTimeAsync(1);
    expect(await second).toMatchObject({ source: "local", degraded: true });
    open();
    expect(await answers[0]).toMatchObject({ source: "store" });
    await patient.close();
    await hasty.close();
  });
});

test("reading the record and deciding together take no longer than storeTimeout", async () => {
  const { limiter, hold } = startServer();
  const api = limiter({ storeTimeout: 100 });
  const answerRecord = hold();
  const decided = vi.fn<(decision: unknown) => void>();
  const asked = api.consume("ann").then(decided);
  await vi.advanceTimersByTimeAsync(60);
  answerRecord();
  const answerDecision = hold();
  await vi.advanceTimersByTimeAsync(39);
  expect(decided).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(2);
  expect(decided).toHaveBeenCalledWith(
    expect.objectContaining({ source: "local", degraded: true }),
  );
  // The server had less time than that, so it is not called down.
  answerDecision();
  await asked;
  expect(await api.consume("ann")).toMatchObject({ source: "store", allowed: false });
  await api.close();
});

/** The source of the decision for a subject that has used its limit. */
async function sourceOf(limiter: Limiter, subject: string): Promise<string> {
  return (await limiter.consume(subject)).source;
}

describe("an invalidation", () => {
  test("drops cached denials of its subject, once", async () => {
    const { limiter, write } = startServer();
    const api = limiter();
    for (const subject of ["ann", "ann", "bob", "bob"]) await api.consume(subject);
    expect(await sourceOf(api, "ann")).toBe("deny-cache");
    write({ invalidations: [order()] });
    await readAgain(api);
    expect(await sourceOf(api, "ann")).toBe("store");
    expect(await sourceOf(api, "bob")).toBe("deny-cache");
    write({ version: FROM + 1, invalidations: [order(), order({ subject: { default: "eve" } })] });
    await readAgain(api);
    expect(await sourceOf(api, "ann")).toBe("deny-cache");
    await api.close();
  });

  test.each([
    ["of another limiter", { limiter: "ap" }],
    ["of another dimension", { subject: { tenant: "ann" } }],
    ["of another subject", { subject: { default: "ANN" } }],
  ])("%s is not about it", async (_, part) => {
    const { limiter, write } = startServer();
    const api = limiter();
    for (let i = 0; i < 2; i += 1) await api.consume("ann");
    write({ invalidations: [order(part)] });
    await readAgain(api);
    expect(await sourceOf(api, "ann")).toBe("deny-cache");
    await api.close();
  });

  test("of an extended limiter also applies to the limiter that extends it", async () => {
    const { limiter, write } = startServer();
    const parent = limiter({ limits: fixedWindow({ limit: 1, window: "1h", per: "tenant" }) });
    const child = limiter({ name: "child", extends: parent });
    const subject = { default: "ann", tenant: "acme" };
    for (let i = 0; i < 2; i += 1) await child.consume(subject);
    expect(await sourceOf(child, subject as never)).toBe("deny-cache");
    await parent.close();
    write({ invalidations: [order({ subject: { tenant: "acme" } })] });
    vi.advanceTimersByTime(810);
    await child.peek({ default: "x", tenant: "y" });
    await flushMicrotasks();
    // A denial by the child's own counter does not concern the parent.
    expect(await sourceOf(child, subject as never)).toBe("deny-cache");
    write({ version: FROM + 1, invalidations: [order({ limiter: "child" })] });
    vi.advanceTimersByTime(810);
    await child.peek({ default: "x", tenant: "y" });
    await flushMicrotasks();
    expect(await sourceOf(child, subject as never)).toBe("store");
    await child.close();
  });

  test("beyond the room of a record applies to all subjects", async () => {
    const { limiter, write } = startServer();
    const api = limiter();
    const leasing = limiter({ name: "leasing", limits: LEASED, lease: { max: 9, ttl: "1m" } });
    for (const subject of ["ann", "ann", "bob", "bob"]) await api.consume(subject);
    while ((await sourceOf(leasing, "eve")) !== "lease");
    write({ invalidateAllBefore: FROM });
    await readAgain(api);
    expect(await sourceOf(api, "ann")).toBe("store");
    expect(await sourceOf(api, "bob")).toBe("store");
    expect(await sourceOf(leasing, "eve")).toBe("store");
    write({ version: FROM + 1, invalidateAllBefore: FROM });
    await readAgain(api);
    expect(await sourceOf(api, "bob")).toBe("deny-cache");
    await api.close();
    await leasing.close();
  });

  test("returns the leases of its subject", async () => {
    const { limiter, write } = startServer();
    const api = limiter({ limits: LEASED, lease: { max: 9, ttl: "1m" } });
    for (const subject of ["ann", "bob"]) {
      while ((await sourceOf(api, subject)) !== "lease");
    }
    write({ invalidations: [order({ kind: "block" })] });
    await readAgain(api);
    const { remaining } = await api.peek("ann", { cost: 0 });
    expect(await api.consume("ann")).toMatchObject({ source: "store", remaining: remaining - 1 });
    expect(await sourceOf(api, "bob")).toBe("lease");
    await api.close();
  });

  test("makes waiting calls of its subject try again", async () => {
    const { limiter, memory, write } = startServer();
    const api = limiter();
    for (const subject of ["ann", "bob"]) await api.consume(subject);
    const waiting = { ann: api.wait("ann"), bob: api.wait("bob", { timeout: "1s" }) };
    const bob = expect(waiting.bob).rejects.toMatchObject({ code: "HEADGATE_WAIT_TIMEOUT" });
    await flushMicrotasks();
    memory.clear();
    await api.consume("bob");
    write({ invalidations: [order()] });
    await readAgain(api);
    expect(await waiting.ann).toMatchObject({ allowed: true });
    vi.advanceTimersByTime(1_000);
    await bob;
    await api.close();
  });

  test("makes a decision in progress try again, because its reply may be older", async () => {
    const { limiter, memory, write, hold } = startServer();
    const api = limiter();
    await api.consume("ann");
    vi.advanceTimersByTime(700);
    const open = hold();
    const waiting = api.wait("ann");
    await flushMicrotasks();
    memory.clear();
    write({ invalidations: [order()] });
    open();
    await readAgain(api);
    expect(await waiting).toMatchObject({ allowed: true });
    await api.close();
  });

  test("does not reach a closed limiter", async () => {
    const { limiter, write, asked } = startServer();
    const api = limiter();
    const other = limiter({ name: "other" });
    await api.consume("ann");
    await api.close();
    write({ invalidations: [order()] });
    await readAgain(other);
    await other.close();
    // Without followers, the record is no longer cached.
    asked();
    const again = limiter();
    await again.peek("ann");
    expect(asked()).toEqual(["read-control", "peek"]);
    await again.close();
  });
});

describe("an unreadable control record", () => {
  test("leaves the last record in force, and is read again", async () => {
    const { limiter, state, asked, write } = startServer();
    const api = limiter();
    for (let i = 0; i < 2; i += 1) await api.consume("ann");
    write({ invalidations: [order()] });
    state.failure = new HeadgateError("HEADGATE_HASH_SLOT_UNAVAILABLE", "no server has the slot");
    watchWarnings();
    await readAgain(api);
    expect(await sourceOf(api, "ann")).toBe("deny-cache");
    expect(asked().filter((name) => name === "read-control")).toHaveLength(2);
    state.failure = undefined;
    vi.advanceTimersByTime(198);
    await api.peek("somebody");
    expect(asked()).toEqual(["peek"]);
    vi.advanceTimersByTime(1);
    await api.peek("somebody");
    expect(asked()).toEqual(["read-control", "peek"]);
    await flushMicrotasks();
    expect(await sourceOf(api, "ann")).toBe("store");
    await nextTurn();
    await api.close();
  });

  test("does not delay each request, even if no record is known", async () => {
    const { limiter, state, asked } = startServer();
    state.failure = new HeadgateError("HEADGATE_HASH_SLOT_UNAVAILABLE", "no server has the slot");
    const warnings = watchWarnings();
    const api = limiter();
    for (let i = 0; i < 3; i += 1) expect((await api.peek("ann")).source).toBe("store");
    expect(asked()).toEqual(["read-control", "peek", "peek", "peek"]);
    await flushMicrotasks();
    await nextTurn();
    expect(warnings).toEqual([]);
    // Decisions, which report the same, do not fail.
    for (let i = 0; i < 2; i += 1) {
      vi.advanceTimersByTime(300);
      await api.peek("ann");
    }
    await nextTurn();
    expect(warnings).toEqual([
      {
        code: "HEADGATE_HASH_SLOT_UNAVAILABLE",
        message: expect.stringContaining("the control record cannot be read"),
      },
    ]);
    await api.close();
  });

  test("that is damaged is logged once, and leaves the last record in force", async () => {
    const { limiter, state } = startServer();
    const warnings = watchWarnings();
    const api = limiter();
    for (let i = 0; i < 2; i += 1) await api.consume("ann");
    for (const text of ["rubbish", formatRecord({ ...NO_RECORD, version: FROM }).slice(0, -1)]) {
      state.text = text;
      await readAgain(api);
    }
    await nextTurn();
    expect(warnings).toEqual([
      { code: "HEADGATE_CONTROL_CORRUPT", message: expect.stringContaining("hg:{control}") },
    ]);
    await api.close();
  });

  test("is not read while the server is known to be down", async () => {
    const { limiter, state, asked } = startServer();
    watchWarnings();
    const api = limiter();
    await api.peek("ann");
    state.failure = new HeadgateError("HEADGATE_STORE_UNAVAILABLE", "gone");
    vi.advanceTimersByTime(2_000);
    await api.peek("ann");
    asked();
    vi.advanceTimersByTime(5_000);
    expect((await api.peek("ann")).source).toBe("local");
    expect(asked()).not.toContain("read-control");
    await api.close();
  });
});
