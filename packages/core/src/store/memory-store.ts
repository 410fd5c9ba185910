import { invalidValue } from "../common/errors.ts";
import { rejectUnknownOptions } from "../common/options.ts";
import { MemoryTable } from "./memory-table.ts";
import type { Clock, Operation, Store } from "./store.ts";
import { brandStore, createClock } from "./store.ts";

/** Options of `memoryStore`. */
export interface MemoryStoreOptions {
  /** The most subjects kept: 1 to 16,777,216. Default 100,000. `docs/understand/sizing.md` explains which are evicted first. */
  readonly maxKeys?: number | undefined;
  /** Returns milliseconds since the epoch, for tests and replays. Default: the process's monotonic clock. */
  readonly clock?: Clock | undefined;
}

/** A store in this process. */
export interface MemoryStore extends Store {
  /**
   * How many subjects were evicted for others before they had recovered, since the store was created: each of them started
   * again with the whole limit. 0 as long as `maxKeys` suffices.
   */
  readonly evictions: number;
  /**
   * Forgets all subjects of all limiters on this store; for use between tests. Earlier decisions can no longer be refunded.
   * Does not wake waiting calls of `wait`.
   */
  clear(): void;
}

/**
 * Creates a store that keeps counts in this process only: without timers, with at most `maxKeys` subjects and 1,048,576 log
 * entries. When it is full, it evicts expired subjects first, then the subject with the lowest used share of its limits and,
 * among equals, the one that recovers first. Throws `HEADGATE_INVALID_OPTION`.
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  rejectUnknownOptions("memoryStore", options, ["maxKeys", "clock"]);
  const { maxKeys = 100_000, clock } = options;
  if (!Number.isSafeInteger(maxKeys) || maxKeys < 1 || maxKeys > 2 ** 24) {
    throw invalidValue("memoryStore: maxKeys must be a whole number from 1 to 16777216", maxKeys);
  }
  const now = createClock("memoryStore", clock);
  const table = new MemoryTable(maxKeys);
  /** One object for all calls, to save allocations. If the clock steps back, time continues from the latest time. */
  const context = { now: 0, generation: 0 };
  let offset = 0;
  function runSync<Call, Reply>(operation: Operation<Call, Reply>, call: Call): Reply {
    const reading = now();
    if (reading + offset < context.now) offset = context.now - reading;
    context.now = reading + offset;
    context.generation += 1;
    return operation.runInMemory(call, table, context);
  }
  return brandStore({
    owner: table,
    prefix: "memory",
    now,
    run: async (operation, call) => runSync(operation, call),
    runSync,
    get evictions() {
      return table.evictions;
    },
    clear: () => table.clear(),
  });
}
