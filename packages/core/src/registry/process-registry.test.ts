import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { gcra } from "../algorithms/gcra.ts";
import { HeadgateError } from "../common/errors.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import type { Limiter } from "../limiter/limiter.ts";
import { redisBackend } from "../limiter/redis-limiter.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { CountingStore } from "../store/store.ts";
import { requireStore } from "../store/store.ts";
import type { RegistryCall } from "./operations.ts";
import { INDEX_STATES, updateRegistry } from "./operations.ts";
import { PROCESS_TTL_MS, registryIntervals, SHARED_TTL_MS } from "./process-registry.ts";
import type { LimiterRecord, ProcessRecord } from "./record.ts";

/** The latest that a process writes first, and after that again. */
const LATEST_FIRST = 15_000;
const LATEST_NEXT = 36_000;

beforeEach(() => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
  Object.assign(registryIntervals(), { firstMs: 10_000, everyMs: 30_000 });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  registryIntervals().firstMs = 2 ** 30;
});

/** A store that records the calls of a registry, and its replies. */
interface ListingStore {
  readonly store: CountingStore;
  /** In the order in which they were made. */
  readonly calls: RegistryCall[];
  /** What the index said of the process, and the hashes of the records that are there. */
  state: number;
  readonly known: Set<string>;
  /** Rejects with this. */
  error: Error | undefined;
  /** Where set, nothing is answered before it settles. */
  pause: Promise<void> | undefined;
}

function listingStore(): ListingStore {
  const memory = requireStore(memoryStore({ clock: Date.now }));
  const it: ListingStore = {
    calls: [],
    state: INDEX_STATES.known,
    known: new Set(),
    error: undefined,
    pause: undefined,
    store: {
      ...memory,
      registry: true,
      backend: redisBackend,
      async run(operation, call) {
        if ((operation as unknown) !== updateRegistry) return memory.run(operation, call);
        const asked = call as RegistryCall;
        it.calls.push(asked);
        await it.pause;
        if (it.error !== undefined) throw it.error;
        const found = asked.shared.map(({ hash, text }) => {
          if (text !== "") it.known.add(hash);
          return it.known.has(hash) ? 1 : 0;
        });
        return [0, it.state, ...found] as never;
      },
    },
  };
  return it;
}

function make(store: CountingStore, name = "api"): Limiter {
  return createLimiter({ name, store, limits: gcra({ limit: 5, window: "1m" }) }) as Limiter;
}

function processOf(call: RegistryCall | undefined): ProcessRecord {
  return JSON.parse(call?.record ?? "");
}

function warnings() {
  return vi.spyOn(process, "emitWarning").mockImplementation(() => {});
}

const settle = () => vi.advanceTimersByTimeAsync(0);

describe("a process in the registry", () => {
  test("writes first after 10 to 15 seconds, and then every half minute", async () => {
    const { store, calls, known } = listingStore();
    const limiter = make(store);
    await vi.advanceTimersByTimeAsync(9_999);
    expect(calls).toEqual([]);
    await vi.advanceTimersByTimeAsync(LATEST_FIRST - 9_999);
    // Whether the record is there; it is not.
    expect(calls).toHaveLength(2);
    const [asked, written] = calls;
    expect(asked?.shared).toMatchObject([{ text: "" }]);
    expect(written).toMatchObject({ ttlMs: PROCESS_TTL_MS, sharedTtlMs: SHARED_TTL_MS });
    const record: LimiterRecord = JSON.parse(written?.shared[0]?.text ?? "");
    expect(record).toMatchObject({ format: 1, kind: "limiter", name: "api" });
    expect(processOf(written)).toMatchObject({ format: 1, pid: process.pid, more: 0 });
    expect(processOf(written).records).toEqual([...known]);
    await vi.advanceTimersByTimeAsync(29_000 - (LATEST_FIRST - 10_000));
    expect(calls).toHaveLength(2);
    for (let turn = 1; turn <= 3; turn += 1) {
      await vi.advanceTimersByTimeAsync(LATEST_NEXT);
      expect(calls.length).toBeGreaterThanOrEqual(2 + turn);
    }
    expect(calls.length).toBeLessThanOrEqual(6);
    // Existing records are only renewed.
    expect(
      calls
        .slice(2)
        .flatMap(({ shared }) => shared.map(({ text }) => text))
        .join(""),
    ).toBe("");
    await limiter.close();
  });

  test("that ends sooner writes nothing, not even when it closes", async () => {
    const { store, calls } = listingStore();
    const limiter = make(store);
    await vi.advanceTimersByTimeAsync(9_999);
    await limiter.close();
    await vi.advanceTimersByTimeAsync(LATEST_FIRST + LATEST_NEXT);
    expect(calls).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is not kept alive by it, and has one timer for each client and prefix", () => {
    const { store } = listingStore();
    const started = vi.spyOn(globalThis, "setTimeout");
    for (const name of ["a", "b", "c"]) make(store, name);
    expect(started).toHaveBeenCalledOnce();
    const [timer] = started.mock.results as { value: NodeJS.Timeout }[];
    expect(timer?.value.hasRef()).toBe(false);
    make({ ...store, prefix: "other" });
    expect(started).toHaveBeenCalledTimes(2);
  });

  test("writes nothing if its store keeps no registry", async () => {
    const { store, calls } = listingStore();
    const limiter = make({ ...store, registry: false });
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(LATEST_FIRST);
    expect(calls).toEqual([]);
    await limiter.close();
  });

  test("does not keep a client from garbage collection that was dropped with open limiters", async () => {
    vi.useRealTimers();
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const dropped = ((): WeakRef<object> => {
      const { store } = listingStore();
      make(store);
      return new WeakRef(store.owner);
    })();
    await new Promise((resolve) => setTimeout(resolve));
    collect();
    expect(dropped.deref()).toBeUndefined();
  });

  test("has one id for all its clients, and another name in each index", async () => {
    const [one, other] = [listingStore(), listingStore()];
    make(one.store);
    make(other.store);
    await vi.advanceTimersByTimeAsync(LATEST_FIRST);
    expect(processOf(one.calls[0]).process).toBe(processOf(other.calls[0]).process);
    expect(one.calls[0]?.process).toMatch(/^[\w-]{16}$/);
    expect(one.calls[0]?.process).not.toBe(other.calls[0]?.process);
  });
});

describe("closing", () => {
  test("a limiter removes it with the next write, and the last limiter removes the process at once", async () => {
    const { store, calls } = listingStore();
    const [one, other] = [make(store, "one"), make(store, "other")];
    await vi.advanceTimersByTimeAsync(LATEST_FIRST);
    expect(processOf(calls.at(-1)).records).toHaveLength(2);
    const before = calls.length;
    await one.close();
    expect(calls).toHaveLength(before);
    await vi.advanceTimersByTimeAsync(LATEST_NEXT);
    expect(processOf(calls.at(-1)).records).toHaveLength(1);
    await other.close();
    expect(calls.at(-1)).toMatchObject({ record: "", shared: [] });
    const after = calls.length;
    await vi.advanceTimersByTimeAsync(LATEST_NEXT);
    expect(calls).toHaveLength(after);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("the last limiter and creating another in the same turn keeps the process listed", async () => {
    const { store, calls } = listingStore();
    const limiter = make(store);
    await vi.advanceTimersByTimeAsync(LATEST_FIRST);
    const closing = limiter.close();
    const next = make(store);
    await closing;
    await vi.advanceTimersByTimeAsync(LATEST_FIRST);
    expect(calls.map(({ record }) => record)).not.toContain("");
    expect(calls.length).toBeGreaterThan(2);
    await next.close();
    expect(calls.at(-1)?.record).toBe("");
  });

  test("waits for a write in progress, so that the process is not listed again", async () => {
    const it = listingStore();
    const limiter = make(it.store);
    let goOn = () => {};
    it.pause = new Promise((resolve) => {
      goOn = resolve;
    });
    await vi.advanceTimersByTimeAsync(LATEST_FIRST);
    const closing = limiter.close();
    await settle();
    expect(it.calls).toHaveLength(1);
    goOn();
    await closing;
    await vi.advanceTimersByTimeAsync(LATEST_NEXT);
    expect(it.calls.at(-1)?.record).toBe("");
    expect(it.calls.filter(({ record }) => record === "")).toHaveLength(1);
  });

  test("waits at most 100 ms for an unresponsive store", async () => {
    const it = listingStore();
    const limiter = make(it.store);
    await vi.advanceTimersByTimeAsync(LATEST_FIRST);
    it.pause = new Promise(() => {});
    let isClosed = false;
    void limiter.close().then(() => {
      isClosed = true;
    });
    await vi.advanceTimersByTimeAsync(99);
    expect(isClosed).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(isClosed).toBe(true);
  });
});

describe("the records of a process", () => {
  test("list 1,000 limiters, and the number of the others", async () => {
    const { store, calls, known } = listingStore();
    const limiters = Array.from({ length: 1_003 }, (_, i) => make(store, `limiter ${i}`));
    await vi.advanceTimersByTimeAsync(LATEST_FIRST);
    expect(known.size).toBe(1_000);
    expect(processOf(calls.at(-1))).toMatchObject({ more: 3 });
    expect(processOf(calls.at(-1)).records).toHaveLength(1_000);
    for (const { shared } of calls) expect(shared.length).toBeLessThanOrEqual(64);
    await Promise.all(limiters.map((limiter) => limiter.close()));
  });

  test("are renewed in turn, all within an hour", async () => {
    const { store, calls, known } = listingStore();
    for (let i = 0; i < 1_000; i += 1) make(store, `limiter ${i}`);
    await vi.advanceTimersByTimeAsync(LATEST_FIRST);
    calls.length = 0;
    await vi.advanceTimersByTimeAsync(3_600_000);
    const kept = calls.flatMap(({ shared }) => shared.map(({ hash }) => hash));
    expect(new Set(kept)).toEqual(known);
    expect(calls.length).toBeLessThanOrEqual(121);
    for (const { shared } of calls) expect(shared.length).toBeLessThanOrEqual(16);
  });

  test("are written again in turn if missing, and all at once if the index is gone", async () => {
    const it = listingStore();
    for (let i = 0; i < 100; i += 1) make(it.store, `limiter ${i}`);
    await vi.advanceTimersByTimeAsync(LATEST_FIRST);
    const all = new Set(it.known);
    expect(all.size).toBe(100);
    it.known.clear();
    await vi.advanceTimersByTimeAsync(LATEST_NEXT);
    expect(it.known.size).toBeGreaterThan(0);
    expect(it.known.size).toBeLessThan(100);
    it.known.clear();
    it.state = INDEX_STATES.new;
    await vi.advanceTimersByTimeAsync(LATEST_NEXT);
    it.state = INDEX_STATES.known;
    await vi.advanceTimersByTimeAsync(LATEST_NEXT);
    expect(it.known).toEqual(all);
  });
});

describe("a failing write", () => {
  const unavailable = (words: string) =>
    new HeadgateError("HEADGATE_STORE_UNAVAILABLE", "the store could not answer", {
      cause: new Error(words),
    });

  test.each([
    "READONLY You can't write against a read only replica.",
    "OOM command not allowed when used memory > 'maxmemory'.",
    "MISCONF Redis is configured to save RDB snapshots",
    "ERR Error running script (call to f_0): @user_script:1: -READONLY You can't write",
  ])("because the server refuses it is logged once: %s", async (words) => {
    const warned = warnings();
    const it = listingStore();
    it.error = unavailable(words);
    const limiter = make(it.store);
    await vi.advanceTimersByTimeAsync(LATEST_FIRST + 2 * LATEST_NEXT);
    expect(it.calls.length).toBeGreaterThanOrEqual(3);
    expect(warned).toHaveBeenCalledOnce();
    expect(warned).toHaveBeenCalledWith(
      expect.stringContaining(words),
      expect.objectContaining({ code: "HEADGATE_REGISTRY_REFUSED" }),
    );
    // It is tried again, and works when it may.
    it.error = undefined;
    await vi.advanceTimersByTimeAsync(LATEST_NEXT);
    expect(it.known.size).toBe(1);
    await limiter.close();
  });

  test.each([
    [INDEX_STATES.full, "full"],
    [INDEX_STATES.wrongType, "another type"],
  ])("because of the index (%i) is logged once", async (state, words) => {
    const warned = warnings();
    const it = listingStore();
    it.state = state;
    make(it.store);
    await vi.advanceTimersByTimeAsync(LATEST_FIRST + LATEST_NEXT);
    expect(warned).toHaveBeenCalledOnce();
    expect(warned.mock.calls[0]?.[0]).toContain(words);
  });

  test.each([
    "Connection is closed.",
    "The client is closed",
    "connect ECONNREFUSED 127.0.0.1:6379",
  ])("because the server is away is not: %s", async (words) => {
    const warned = warnings();
    const it = listingStore();
    it.error = unavailable(words);
    const limiter = make(it.store);
    await vi.advanceTimersByTimeAsync(LATEST_FIRST + LATEST_NEXT);
    await limiter.close();
    expect(warned).not.toHaveBeenCalled();
  });

  test("delays no decision on an unresponsive store, and the next write waits for the first", async () => {
    const it = listingStore();
    const limiter = make(it.store);
    it.pause = new Promise(() => {});
    await vi.advanceTimersByTimeAsync(LATEST_FIRST + 10 * LATEST_NEXT);
    expect(it.calls).toHaveLength(1);
    expect((await limiter.consume("u")).allowed).toBe(true);
  });
});
