import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { gcra } from "../algorithms/gcra.ts";
import { HeadgateError } from "../common/errors.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import type { Limiter } from "../limiter/limiter.ts";
import { redisBackend } from "../limiter/redis-limiter.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { CountingStore } from "../store/store.ts";
import { requireStore } from "../store/store.ts";
import type { UsageCall, UsageRow } from "./operations.ts";
import { addUsage, USAGE_STATES } from "./operations.ts";

/** The latest that a process sends numbers, and that it sends the subjects of a limiter. */
const LATEST = 5_000;
const LATEST_SUBJECTS = 1.25 * 25_000 + LATEST;
const START = 1_800_000_000_000;

beforeEach(() => void vi.useFakeTimers({ now: START }));
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** A store that records the usage calls, and its replies. */
interface AddingStore {
  readonly store: CountingStore;
  /** In the order in which they were made. */
  readonly calls: UsageCall[];
  state: number;
  /** What it says of each limiter. */
  each: number;
  /** Rejects with this. */
  error: Error | undefined;
  /** Where set, nothing is answered before it settles. */
  pause: Promise<void> | undefined;
}

function addingStore({ usage }: Pick<CountingStore, "usage"> = { usage: "hashed" }): AddingStore {
  const memory = requireStore(memoryStore({ clock: Date.now }));
  const it: AddingStore = {
    calls: [],
    state: USAGE_STATES.done,
    each: 1,
    error: undefined,
    pause: undefined,
    store: {
      ...memory,
      usage,
      backend: redisBackend,
      now: () => Date.now() * 1_000,
      async run(operation, call) {
        if ((operation as unknown) !== addUsage) return memory.run(operation, call);
        const asked = call as UsageCall;
        it.calls.push(asked);
        await it.pause;
        if (it.error !== undefined) throw it.error;
        return [Date.now() * 1_000, it.state, ...asked.limiters.map(() => it.each)] as never;
      },
    },
  };
  return it;
}

function make(store: CountingStore, name = "api", limit = 2): Limiter {
  return createLimiter({ name, store, limits: gcra({ limit, window: "1000h" }) }) as Limiter;
}

async function consume(limiter: Limiter, times: number, subject = "u"): Promise<void> {
  for (let i = 0; i < times; i += 1) await limiter.consume(subject);
}

function warnings() {
  return vi.spyOn(process, "emitWarning").mockImplementation(() => {});
}

/** The rows of calls, each counted once. */
function rowsIn(calls: readonly UsageCall[]): UsageRow[] {
  const byNumber = new Map(calls.map((call) => [call.number, call]));
  return [...byNumber.values()].flatMap(({ limiters }) => limiters.flatMap((one) => one.rows));
}

/** About how many decisions the lists of a limiter are. */
function listedIn(calls: readonly UsageCall[], name: string): number {
  const lists = calls.flatMap(({ limiters }) => limiters.filter((one) => one.name === name));
  return lists.reduce((sum, { subjects }) => sum + Number(subjects?.used[1] ?? 0), 0);
}

/** Of how many limiters a call has subjects. */
function listsIn({ limiters }: UsageCall): number {
  return limiters.filter(({ subjects }) => subjects !== undefined).length;
}

function decisionsIn(calls: readonly UsageCall[]): number {
  return rowsIn(calls).reduce((sum, { allowed, denied }) => sum + allowed + denied, 0);
}

describe("a process with usage", () => {
  test("sends its counts every four to five seconds, in one call for all limiters", async () => {
    const { store, calls } = addingStore();
    const limiters = [make(store, "one"), make(store, "other")];
    for (const limiter of limiters) await consume(limiter, 3);
    await vi.advanceTimersByTimeAsync(3_999);
    expect(calls).toEqual([]);
    await vi.advanceTimersByTimeAsync(LATEST - 3_999);
    expect(calls).toMatchObject([
      {
        number: 1,
        limiters: [
          { name: "one", rows: [{ allowed: 2, denied: 1, degraded: 0 }] },
          { name: "other", rows: [{ allowed: 2, denied: 1, degraded: 0 }] },
        ],
      },
    ]);
    await vi.advanceTimersByTimeAsync(LATEST_SUBJECTS);
    for (const name of ["one", "other"]) {
      const [list] = calls.flatMap((call) =>
        call.limiters.filter((one) => one.name === name && one.subjects !== undefined),
      );
      const hashed = expect.stringMatching(/^default#[\w-]{16}$/);
      expect(list?.subjects?.used).toEqual([0, 3, hashed, 3, 0]);
      expect(list?.subjects?.denied).toEqual([0, 1, hashed, 1, 0]);
    }
    const before = calls.length;
    await consume(limiters[1] as Limiter, 1);
    await vi.advanceTimersByTimeAsync(LATEST);
    expect(calls[before]).toMatchObject({
      number: before + 1,
      limiters: [{ name: "other", rows: [{ allowed: 0, denied: 1 }] }],
    });
    // Nothing is counted any more.
    await vi.advanceTimersByTimeAsync(LATEST_SUBJECTS);
    const after = calls.length;
    await vi.advanceTimersByTimeAsync(2 * LATEST_SUBJECTS);
    // Calls without numbers tell that the process still reports.
    expect(calls.slice(after).flatMap(({ limiters: told }) => told)).toEqual([]);
    expect(decisionsIn(calls)).toBe(7);
    await Promise.all(limiters.map((limiter) => limiter.close()));
  });

  test("sends the subjects of a limiter about every 30 seconds, at other times than those of other limiters, and the rest at close", async () => {
    const { store, calls } = addingStore();
    const names = Array.from({ length: 60 }, (_, i) => `limiter ${i}`);
    const limiters = names.map((name) => make(store, name));
    const turns = 200;
    for (let turn = 0; turn < turns; turn += 1) {
      for (const limiter of limiters) await limiter.consume("u");
      await vi.advanceTimersByTimeAsync(1_000);
    }
    for (const name of names) {
      const times = calls
        .filter(({ limiters }) =>
          limiters.some((one) => one.name === name && one.subjects !== undefined),
        )
        .map(({ clock }) => clock / 1_000);
      expect(times.length).toBeGreaterThanOrEqual(5);
      for (const [i, time] of times.entries()) {
        const wait = time - (times[i - 1] ?? START);
        expect(wait).toBeLessThanOrEqual(LATEST_SUBJECTS);
        if (i > 0) expect(wait).toBeGreaterThanOrEqual(25_000);
      }
    }
    // A sixth in each call.
    expect(Math.max(...calls.map(listsIn))).toBeLessThan(names.length / 2);
    await Promise.all(limiters.map((limiter) => limiter.close()));
    for (const name of names) expect(listedIn(calls, name)).toBe(turns);
    expect(decisionsIn(calls)).toBe(turns * names.length);
  });

  test("sends the subjects of a closed limiter with the next counts", async () => {
    const { store, calls } = addingStore();
    const [one, other] = [make(store, "one"), make(store, "other")];
    await consume(one, 3);
    await one.close();
    await vi.advanceTimersByTimeAsync(LATEST);
    expect(listedIn(calls, "one")).toBe(3);
    await other.close();
  });

  test("is not kept alive by it, and has one timer for each client and prefix", () => {
    const { store } = addingStore();
    const started = vi.spyOn(globalThis, "setTimeout");
    for (const name of ["a", "b", "c"]) make(store, name);
    expect(started).toHaveBeenCalledOnce();
    const [timer] = started.mock.results as { value: NodeJS.Timeout }[];
    expect(timer?.value.hasRef()).toBe(false);
  });

  test("has no timer and counts nothing on a store without usage", async () => {
    const { store, calls } = addingStore({});
    const limiter = make(store);
    expect(vi.getTimerCount()).toBe(0);
    await consume(limiter, 3);
    await limiter.close();
    expect(calls).toEqual([]);
  });

  test("writes subjects in plain text if configured", async () => {
    const { store, calls } = addingStore({ usage: "plain" });
    const limiter = make(store);
    await consume(limiter, 1, "ann");
    await limiter.close();
    expect(calls[0]?.limiters[0]?.subjects?.used).toEqual([0, 1, "default ann", 1, 0]);
  });

  test("counts a waiting call once, and in shadow mode the decision that would have been made", async () => {
    const { store, calls } = addingStore();
    const limits = gcra({ limit: 1, window: "1s" });
    const limiter = createLimiter({ name: "api", store, limits });
    const shadow = createLimiter({ name: "shadow", store, limits, shadow: true });
    await limiter.consume("u");
    const waiting = limiter.wait("u");
    for (let i = 0; i < 3; i += 1) await shadow.consume("u");
    await vi.advanceTimersByTimeAsync(1_000);
    await waiting;
    await limiter.close();
    await shadow.close();
    const rows = calls.flatMap((call) => call.limiters.map((one) => [one.name, one.rows]));
    expect(rows).toMatchObject([
      ["api", [{ allowed: 2, denied: 0 }]],
      ["shadow", [{ allowed: 1, denied: 2 }]],
    ]);
  });

  test("counts limiters beyond 1,000 together", async () => {
    const { store, calls } = addingStore();
    const limiters = Array.from({ length: 1_003 }, (_, i) => make(store, `limiter ${i}`));
    for (const limiter of limiters) await consume(limiter, 1);
    await vi.advanceTimersByTimeAsync(LATEST);
    const all = calls.flatMap((call) => call.limiters);
    expect(all).toHaveLength(1_001);
    expect(all.at(-1)).toMatchObject({ name: "", rows: [{ allowed: 3 }] });
    for (const call of calls) expect(call.limiters.length).toBeLessThanOrEqual(64);
    await Promise.all(limiters.map((limiter) => limiter.close()));
  });
});

describe("closing", () => {
  test("the last limiter sends the remaining counts", async () => {
    const { store, calls } = addingStore();
    const limiters = [make(store, "one"), make(store, "other")];
    await consume(limiters[0] as Limiter, 3);
    await limiters[0]?.close();
    expect(calls).toEqual([]);
    await limiters[1]?.close();
    expect(calls).toMatchObject([{ limiters: [{ name: "one" }] }]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("sends counts that arrived during a call, too", async () => {
    const it = addingStore();
    const limiter = make(it.store);
    await consume(limiter, 1);
    let goOn = () => {};
    it.pause = new Promise((resolve) => {
      goOn = resolve;
    });
    await vi.advanceTimersByTimeAsync(LATEST);
    await consume(limiter, 2);
    const closing = limiter.close();
    goOn();
    await closing;
    expect(decisionsIn(it.calls)).toBe(3);
  });

  test("waits at most 100 ms for an unresponsive store", async () => {
    const it = addingStore();
    const limiter = make(it.store);
    await consume(limiter, 1);
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

const unavailable = (words: string) =>
  new HeadgateError("HEADGATE_STORE_UNAVAILABLE", "the store could not answer", {
    cause: new Error(words),
  });

describe("an unavailable store", () => {
  test("gets the same call again, and then the counts since, each with its own time", async () => {
    const warned = warnings();
    const it = addingStore();
    it.error = unavailable("Connection is closed.");
    const limiter = make(it.store);
    await consume(limiter, 1);
    await vi.advanceTimersByTimeAsync(LATEST);
    for (let i = 0; i < 3; i += 1) {
      await consume(limiter, 1);
      await vi.advanceTimersByTimeAsync(20_000);
    }
    expect(new Set(it.calls.map(({ number }) => number))).toEqual(new Set([1]));
    const [first, ...rest] = it.calls;
    for (const { limiters } of rest) expect(limiters).toEqual(first?.limiters);
    it.error = undefined;
    await vi.advanceTimersByTimeAsync(LATEST);
    expect(it.calls.slice(-2).map(({ number }) => number)).toEqual([1, 2]);
    const rows = it.calls.at(-1)?.limiters[0]?.rows ?? [];
    expect(rows.map(({ allowed, denied }) => allowed + denied)).toEqual([1, 1, 1]);
    const [one = 0, two = 0, three = 0] = rows.map(({ at }) => at / 1_000_000);
    expect(two - one).toBeCloseTo(20, -1);
    expect(three - two).toBeCloseTo(20, -1);
    await limiter.close();
    expect(warned).not.toHaveBeenCalled();
  });

  test("gets counts of longer periods after a day, and none is missing", async () => {
    const it = addingStore();
    it.error = unavailable("Connection is closed.");
    const limiters = Array.from({ length: 40 }, (_, i) => make(it.store, `limiter ${i}`));
    let decisions = 0;
    for (let turn = 0; turn < 1_000; turn += 1) {
      for (const limiter of limiters) await limiter.consume("u");
      decisions += limiters.length;
      await vi.advanceTimersByTimeAsync(LATEST);
    }
    it.error = undefined;
    await vi.advanceTimersByTimeAsync(LATEST);
    expect(decisionsIn(it.calls)).toBe(decisions);
    expect(rowsIn(it.calls).length).toBeLessThan(20_000);
    for (const call of it.calls) {
      const together = call.limiters.reduce((sum, one) => sum + one.rows.length, 0);
      expect(together).toBeLessThanOrEqual(1_024);
    }
    await Promise.all(limiters.map((limiter) => limiter.close()));
  });

  test("gets the subjects of limiters at different times after minutes, and after a clock was set", async () => {
    const it = addingStore();
    const limiters = Array.from({ length: 60 }, (_, i) => make(it.store, `limiter ${i}`));
    const goOn = async (turns: number): Promise<void> => {
      for (let turn = 0; turn < turns; turn += 1) {
        for (const limiter of limiters) await limiter.consume("u");
        await vi.advanceTimersByTimeAsync(LATEST);
      }
    };
    await goOn(20);
    it.error = unavailable("Connection is closed.");
    await goOn(40);
    it.error = undefined;
    await goOn(20);
    vi.setSystemTime(Date.now() - 3_600_000);
    await goOn(20);
    expect(Math.max(...it.calls.map(listsIn))).toBeLessThan(limiters.length / 2);
    const last = it.calls.slice(-10);
    for (let i = 0; i < limiters.length; i += 1) {
      expect(listedIn(last, `limiter ${i}`)).toBeGreaterThan(0);
    }
    await Promise.all(limiters.map((limiter) => limiter.close()));
    expect(
      listedIn([...new Map(it.calls.map((call) => [call.number, call])).values()], "limiter 7"),
    ).toBe(100);
  });

  test("does not get a call again after an hour, because it may have processed and forgotten it", async () => {
    const it = addingStore();
    it.error = unavailable("Connection is closed.");
    const limiter = make(it.store);
    await consume(limiter, 1);
    await vi.advanceTimersByTimeAsync(49 * 60_000);
    expect(new Set(it.calls.map(({ number }) => number))).toEqual(new Set([1]));
    await consume(limiter, 1);
    await vi.advanceTimersByTimeAsync(2 * 60_000);
    expect(it.calls.at(-1)).toMatchObject({ number: 2 });
    await limiter.close();
  });

  test("delays no decision, and gets one call at a time", async () => {
    const it = addingStore();
    const limiter = make(it.store);
    await consume(limiter, 1);
    it.pause = new Promise(() => {});
    await vi.advanceTimersByTimeAsync(20 * LATEST);
    expect(it.calls).toHaveLength(1);
    expect((await limiter.consume("u")).allowed).toBe(true);
  });
});

describe("a process's clock", () => {
  test("that differs too much is corrected by the reply, and the call is sent again", async () => {
    // Subjects, whose time is drawn, would come in a call of their own.
    vi.spyOn(Math, "random").mockReturnValue(0.9);
    const it = addingStore();
    const limiter = make(it.store);
    await consume(limiter, 1);
    it.state = USAGE_STATES.clockSkew;
    await vi.advanceTimersByTimeAsync(LATEST);
    expect(it.calls).toHaveLength(2);
    it.state = USAGE_STATES.done;
    await vi.advanceTimersByTimeAsync(LATEST);
    expect(it.calls.map(({ number }) => number)).toEqual([1, 1, 1]);
    await limiter.close();
  });
});

describe("a refusal is logged once, and delays no decision", () => {
  test.each([
    "READONLY You can't write against a read only replica.",
    "OOM command not allowed when used memory > 'maxmemory'.",
    "MISCONF Redis is configured to save RDB snapshots",
  ])("of the server: %s", async (words) => {
    const warned = warnings();
    const it = addingStore();
    it.error = unavailable(words);
    const limiter = make(it.store);
    await consume(limiter, 2);
    await vi.advanceTimersByTimeAsync(3 * LATEST);
    expect(it.calls.length).toBeGreaterThanOrEqual(3);
    expect(warned).toHaveBeenCalledOnce();
    expect(warned).toHaveBeenCalledWith(
      expect.stringContaining(words),
      expect.objectContaining({ code: "HEADGATE_USAGE_REFUSED" }),
    );
    expect((await limiter.consume("u")).degraded).toBe(false);
    it.error = undefined;
    await limiter.close();
    expect(decisionsIn(it.calls)).toBe(3);
  });

  test("because of what is in the index, or in place of a limiter", async () => {
    for (const at of ["state", "each"] as const) {
      const warned = warnings();
      const it = addingStore();
      it[at] = USAGE_STATES.wrongType;
      const limiter = make(it.store);
      await consume(limiter, 1);
      await vi.advanceTimersByTimeAsync(2 * LATEST);
      expect(warned).toHaveBeenCalledOnce();
      expect(warned.mock.calls[0]?.[0]).toContain("another type");
      await limiter.close();
      vi.restoreAllMocks();
    }
  });
});
