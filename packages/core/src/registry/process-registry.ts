import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { Alarm, spread, weakCallback } from "../common/background.ts";
import { processPart } from "../common/client-state.ts";
import { HeadgateError } from "../common/errors.ts";
import type { CountingStore } from "../store/store.ts";
import { within } from "../store/within.ts";
import { VERSION } from "../version.generated.ts";
import { Entry } from "./entry.ts";
import type { NameTargets } from "./listed-targets.ts";
import { listTargets } from "./listed-targets.ts";
import { newProcessName } from "./process-name.ts";
import { refusalOf } from "./refusal.ts";
import type { HttpUse, ListedPolicy, ListedRecord, ProcessRecord } from "./registry.ts";
import { RECORD_FORMAT } from "./registry.ts";
import type { DirectoryCall, SharedRecord } from "./step.ts";
import { INDEX_STATES, keepDirectory } from "./step.ts";

/** When a process writes into directories, in milliseconds. */
interface DirectoryTimes {
  /** After the first limiter was created; a process that ends sooner is not listed. Up to half as much is added. */
  first: number;
  /** The interval after that; up to a fifth is added. */
  every: number;
}

/** How long a process that crashed stays listed: slightly longer than three writes take. */
export const PROCESS_LIFE_MS = 110_000;

/** How long shared records are kept. A process has at most 1,000 of them, and renews all of them in turn within an hour. */
export const SHARED_LIFE_MS = 7_200_000;

/** Shared by all copies of this package, so that a test can set other times. */
export const directoryTimes: () => DirectoryTimes = processPart("directoryTimes", () => ({
  first: 10_000,
  every: 30_000,
}));

/** The most limiters and breakers of a process that are listed; the rest are only counted. */
const MOST_LISTED = 1_000;

/** The most records in one call. */
const TOGETHER = 64;

/** How many existing records are renewed each time, in turn. */
const IN_TURN = 16;

/** The longest that `close` waits for the store. */
const LONGEST_GOODBYE_MS = 100;

type Kind = ListedRecord["kind"];

/** The listings of this process for one client and prefix. */
export class ProcessDirectory {
  /** Its name in the index: 16 characters. */
  readonly #name: string;
  readonly #prefix: string;
  readonly #onRefused: (error: HeadgateError) => void;
  readonly #entries = new Map<string, Entry>();
  /** The hashes of existing records, the least recently renewed first. */
  readonly #kept = new Set<string>();
  /** Whether anything was written that has to be removed later. */
  #isListed = false;
  readonly #alarm = new Alarm(weakCallback(this, (directory) => directory.wake()));
  #writing: Promise<void> | undefined;

  /** `onRefused` is called for each write that the store refuses. */
  constructor(
    prefix: string,
    onRefused: (error: HeadgateError) => void,
    name: string = newProcessName(),
  ) {
    this.#prefix = prefix;
    this.#name = name;
    this.#onRefused = onRefused;
  }

  /** The first record under a name is listed, until the name is removed. Each write lists a breaker's current targets. */
  add(record: ListedRecord, store: CountingStore, nameTargets?: NameTargets): void {
    const id = idOf(record.kind, record.name);
    if (this.#entries.has(id)) return;
    this.#entries.set(id, new Entry(record, store, nameTargets));
    if (this.#entries.size === 1) this.#alarm.set(spread(directoryTimes().first, 0.5));
  }

  addUse(kind: Kind, name: string, use: HttpUse): void {
    this.#entries.get(idOf(kind, name))?.addUse(use);
  }

  /** Lists a policy of another shape with a limiter, until each of its users has removed it. */
  addOther(limiter: string, policy: ListedPolicy): void {
    this.#entries.get(idOf("limiter", limiter))?.addOther(policy);
  }

  removeOther(limiter: string, policy: ListedPolicy): void {
    this.#entries.get(idOf("limiter", limiter))?.removeOther(policy);
  }

  /** Removes a name. With the last one the process leaves the directory, waiting only briefly for the store. Never rejects. */
  async remove(kind: Kind, name: string, store: CountingStore): Promise<void> {
    this.#entries.delete(idOf(kind, name));
    if (this.#entries.size > 0) return;
    this.#alarm.stop();
    if (this.#isListed) await within(LONGEST_GOODBYE_MS, this.#leave(store), () => {});
  }

  /** Writes now if anything is due. Never rejects, and does not restart a write in progress. */
  write(): Promise<void> {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  /** Writes now and periodically. Never rejects. */
  async wake(): Promise<void> {
    await this.write();
    // It may have been closed in the meantime, and opened again.
    if (this.#entries.size === 0 || this.#alarm.isSet) return;
    this.#alarm.set(spread(directoryTimes().every, 0.2));
  }

  async #writeAll(): Promise<void> {
    try {
      const records = this.#records();
      const due = this.#due(records);
      do {
        await this.#keep(due.splice(0, TOGETHER), records);
      } while (due.length > 0 && this.#entries.size > 0);
    } catch (error) {
      this.#onRefused(error as HeadgateError);
    }
  }

  #listed(): readonly Entry[] {
    return [...this.#entries.values()].slice(0, MOST_LISTED);
  }

  /** The records to list, by hash. */
  #records(): ReadonlyMap<string, SharedRecord> {
    return new Map(
      this.#listed()
        .map((entry) => entry.write())
        .map((record) => [record.hash, record]),
    );
  }

  /** The hashes of new records, and of some of the others in turn. */
  #due(records: ReadonlyMap<string, SharedRecord>): string[] {
    for (const hash of this.#kept) if (!records.has(hash)) this.#kept.delete(hash);
    const added = [...records.keys()].filter((hash) => !this.#kept.has(hash));
    return [...added, ...[...this.#kept].slice(0, IN_TURN)];
  }

  /** Renews some records, and writes those that are missing. */
  async #keep(
    hashes: readonly string[],
    records: ReadonlyMap<string, SharedRecord>,
  ): Promise<void> {
    const process = this.#processRecord(records);
    const areThere = await this.#run(
      process,
      hashes.map((hash) => ({ hash, text: "" })),
    );
    const missing = hashes.filter((_, i) => areThere[i] === 0);
    if (missing.length > 0) {
      await this.#run(
        process,
        missing.map((hash) => records.get(hash) as SharedRecord),
      );
    }
    for (const hash of hashes) {
      this.#kept.delete(hash);
      this.#kept.add(hash);
    }
  }

  #processRecord(records: ReadonlyMap<string, SharedRecord>): string {
    const record: ProcessRecord = {
      ...thisProcess(),
      records: [...records.keys()],
      more: Math.max(0, this.#entries.size - MOST_LISTED),
      targets: listTargets(this.#breakers()),
    };
    return JSON.stringify({ format: RECORD_FORMAT, ...record });
  }

  /** The function that names the targets of each listed breaker, by the hash of its record. */
  #breakers(): ReadonlyMap<string, NameTargets> {
    const breakers = new Map<string, NameTargets>();
    for (const entry of this.#listed()) {
      if (entry.nameTargets !== undefined) breakers.set(entry.write().hash, entry.nameTargets);
    }
    return breakers;
  }

  /** Returns for each shared record whether it exists. Rejects with the store's errors, and if the index does not accept the process. */
  async #run(record: string, shared: readonly SharedRecord[]): Promise<readonly number[]> {
    // All of them are on one client and prefix.
    const [entry] = this.#entries.values();
    if (entry === undefined) return [];
    const wasListed = this.#isListed;
    this.#isListed = true;
    const [, state, ...areThere] = await entry.store.run(keepDirectory, this.#call(record, shared));
    const code = "HEADGATE_DIRECTORY_REFUSED";
    if (state === INDEX_STATES.full) throw new HeadgateError(code, "it is full");
    const refusal = refusalOf(state, code);
    if (refusal !== undefined) throw refusal;
    // The store was emptied.
    if (wasListed && state === INDEX_STATES.new) this.#kept.clear();
    return areThere;
  }

  #call(record: string, shared: readonly SharedRecord[]): DirectoryCall {
    return {
      prefix: this.#prefix,
      process: this.#name,
      record,
      life: PROCESS_LIFE_MS,
      sharedLife: SHARED_LIFE_MS,
      shared,
    };
  }

  async #leave(store: CountingStore): Promise<void> {
    // A write in progress would list it again. And hot reload creates another limiter in the same turn.
    await this.#writing;
    if (this.#entries.size > 0) return;
    this.#isListed = false;
    this.#kept.clear();
    await store.run(keepDirectory, this.#call("", [])).catch(() => {});
  }
}

function idOf(kind: Kind, name: string): string {
  return `${kind} ${name}`;
}

/** The common part of a process's records for all its clients, whichever copy of this package writes them. */
export const thisProcess: () => Omit<ProcessRecord, "records" | "more" | "targets"> = processPart(
  "processRecord",
  () => ({
    process: randomBytes(9).toString("base64url"),
    host: hostname(),
    pid: process.pid,
    startedAt: Math.round(performance.timeOrigin),
    version: VERSION,
  }),
);
