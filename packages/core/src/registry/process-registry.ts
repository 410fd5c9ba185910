import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { addJitter, BackgroundTimer, weakCallback } from "../common/background.ts";
import { shareByPrefix, shareInProcess } from "../common/client-state.ts";
import { HeadgateError } from "../common/errors.ts";
import type { CountingStore } from "../store/store.ts";
import { withTimeout } from "../store/with-timeout.ts";
import { VERSION } from "../version.generated.ts";
import type { RegistryCall, SharedRecord } from "./operations.ts";
import { INDEX_STATES, updateRegistry } from "./operations.ts";
import type {
  GetTargetNames,
  HttpUse,
  LimiterRecord,
  ProcessRecord,
  RegistryPolicy,
  RegistryRecord,
} from "./record.ts";
import { collectTargets, RECORD_FORMAT, RegistryEntry } from "./record.ts";
import { refusalOf } from "./refusal.ts";

/** When a process writes into registries, in milliseconds. */
interface RegistryIntervals {
  /** After the first limiter was created; a process that ends sooner is not listed. Up to half as much is added. */
  firstMs: number;
  /** The interval after that; up to a fifth is added. */
  everyMs: number;
}

/** How long a process that crashed stays listed: slightly longer than three writes take. */
export const PROCESS_TTL_MS = 110_000;

/** How long shared records are kept. A process has at most 1,000 of them, and renews all of them in turn within an hour. */
export const SHARED_TTL_MS = 7_200_000;

/** Shared by all copies of this package, so that a test can set other times. */
export const registryIntervals: () => RegistryIntervals = shareInProcess(
  "registryIntervals",
  () => ({
    firstMs: 10_000,
    everyMs: 30_000,
  }),
);

/** What other packages list of this process, by name. Each write turns it into JSON. */
export const processDetails: () => Map<string, object> = shareInProcess(
  "processDetails",
  () => new Map(),
);

/** The most limiters and breakers of a process that are listed; the rest are only counted. */
const MAX_REGISTERED = 1_000;

/** The most records in one call. */
const BATCH_SIZE = 64;

/** How many existing records are renewed each time, in turn. */
const RENEWED_PER_WRITE = 16;

/** The longest that `close` waits for the store. */
const MAX_CLOSE_WAIT_MS = 100;

type Kind = RegistryRecord["kind"];

/** The listings of this process for one client and prefix. */
export class ProcessRegistry {
  /** Its name in the index: 16 characters. */
  readonly #name: string;
  readonly #prefix: string;
  readonly #onRefused: (error: HeadgateError) => void;
  readonly #entries = new Map<string, RegistryEntry>();
  /** The hashes of existing records, the least recently renewed first. */
  readonly #renewed = new Set<string>();
  /** Whether anything was written that has to be removed later. */
  #isRegistered = false;
  readonly #alarm = new BackgroundTimer(
    weakCallback(this, (registry) => registry.writePeriodically()),
  );
  #writing: Promise<void> | undefined;

  /** `onRefused` is called for each write that the store refuses. */
  constructor(
    prefix: string,
    onRefused: (error: HeadgateError) => void,
    name: string = createProcessName(),
  ) {
    this.#prefix = prefix;
    this.#name = name;
    this.#onRefused = onRefused;
  }

  /** The first record under a name is listed, until the name is removed. Each write lists a breaker's current targets. */
  add(record: RegistryRecord, store: CountingStore, getTargetNames?: GetTargetNames): void {
    const id = idOf(record.kind, record.name);
    if (this.#entries.has(id)) return;
    this.#entries.set(id, new RegistryEntry(record, store, getTargetNames));
    if (this.#entries.size === 1) this.#alarm.set(addJitter(registryIntervals().firstMs, 0.5));
  }

  addHttpUse(kind: Kind, name: string, use: HttpUse): void {
    this.#entries.get(idOf(kind, name))?.addHttpUse(use);
  }

  /** Lists a policy of another shape with a limiter, until each of its users has removed it. */
  addPerCallPolicy(limiter: string, policy: RegistryPolicy): void {
    this.#entries.get(idOf("limiter", limiter))?.addPerCallPolicy(policy);
  }

  removePerCallPolicy(limiter: string, policy: RegistryPolicy): void {
    this.#entries.get(idOf("limiter", limiter))?.removePerCallPolicy(policy);
  }

  /** The records of the limiters, without what adapters and calls added to them. */
  limiters(): readonly LimiterRecord[] {
    return [...this.#entries.values()].flatMap(({ record }) =>
      record.kind === "limiter" ? [record] : [],
    );
  }

  /** Removes a name. With the last one the process leaves the registry, waiting only briefly for the store. Never rejects. */
  async remove(kind: Kind, name: string, store: CountingStore): Promise<void> {
    this.#entries.delete(idOf(kind, name));
    if (this.#entries.size > 0) return;
    this.#alarm.stop();
    if (this.#isRegistered) await withTimeout(MAX_CLOSE_WAIT_MS, this.#unregister(store), () => {});
  }

  /** Writes now if anything is due. Never rejects, and does not restart a write in progress. */
  write(): Promise<void> {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  /** Writes now and periodically. Never rejects. */
  async writePeriodically(): Promise<void> {
    await this.write();
    // It may have been closed in the meantime, and opened again.
    if (this.#entries.size === 0 || this.#alarm.isSet) return;
    this.#alarm.set(addJitter(registryIntervals().everyMs, 0.2));
  }

  async #writeAll(): Promise<void> {
    try {
      const records = this.#records();
      const due = this.#due(records);
      do {
        await this.#renew(due.splice(0, BATCH_SIZE), records);
      } while (due.length > 0 && this.#entries.size > 0);
    } catch (error) {
      this.#onRefused(error as HeadgateError);
    }
  }

  #registered(): readonly RegistryEntry[] {
    return [...this.#entries.values()].slice(0, MAX_REGISTERED);
  }

  /** The records to list, by hash. */
  #records(): ReadonlyMap<string, SharedRecord> {
    return new Map(
      this.#registered()
        .map((entry) => entry.toSharedRecord())
        .map((record) => [record.hash, record]),
    );
  }

  /** The hashes of new records, and of some of the others in turn. */
  #due(records: ReadonlyMap<string, SharedRecord>): string[] {
    for (const hash of this.#renewed) if (!records.has(hash)) this.#renewed.delete(hash);
    const added = [...records.keys()].filter((hash) => !this.#renewed.has(hash));
    return [...added, ...[...this.#renewed].slice(0, RENEWED_PER_WRITE)];
  }

  /** Renews some records, and writes those that are missing. */
  async #renew(
    hashes: readonly string[],
    records: ReadonlyMap<string, SharedRecord>,
  ): Promise<void> {
    const process = this.#processRecord(records);
    const exist = await this.#run(
      process,
      hashes.map((hash) => ({ hash, text: "" })),
    );
    const missing = hashes.filter((_, i) => exist[i] === 0);
    if (missing.length > 0) {
      await this.#run(
        process,
        missing.map((hash) => records.get(hash) as SharedRecord),
      );
    }
    for (const hash of hashes) {
      this.#renewed.delete(hash);
      this.#renewed.add(hash);
    }
  }

  #processRecord(records: ReadonlyMap<string, SharedRecord>): string {
    const details = processDetails();
    const record: ProcessRecord = {
      ...thisProcess(),
      records: [...records.keys()],
      more: Math.max(0, this.#entries.size - MAX_REGISTERED),
      targets: collectTargets(this.#targetNamesByHash()),
      ...(details.size > 0 ? { details: Object.fromEntries(details) } : {}),
    };
    return JSON.stringify({ format: RECORD_FORMAT, ...record });
  }

  /** The function that names the targets of each listed breaker, by the hash of its record. */
  #targetNamesByHash(): ReadonlyMap<string, GetTargetNames> {
    const breakers = new Map<string, GetTargetNames>();
    for (const entry of this.#registered()) {
      if (entry.getTargetNames !== undefined)
        breakers.set(entry.toSharedRecord().hash, entry.getTargetNames);
    }
    return breakers;
  }

  /** Returns for each shared record whether it exists. Rejects with the store's errors, and if the index does not accept the process. */
  async #run(record: string, shared: readonly SharedRecord[]): Promise<readonly number[]> {
    // All of them are on one client and prefix.
    const [entry] = this.#entries.values();
    if (entry === undefined) return [];
    const wasRegistered = this.#isRegistered;
    this.#isRegistered = true;
    const [, state, ...exist] = await entry.store.run(updateRegistry, this.#call(record, shared));
    const code = "HEADGATE_REGISTRY_REFUSED";
    if (state === INDEX_STATES.full) throw new HeadgateError(code, "it is full");
    const refusal = refusalOf(state, code);
    if (refusal !== undefined) throw refusal;
    // The store was emptied.
    if (wasRegistered && state === INDEX_STATES.new) this.#renewed.clear();
    return exist;
  }

  #call(record: string, shared: readonly SharedRecord[]): RegistryCall {
    return {
      prefix: this.#prefix,
      process: this.#name,
      record,
      ttlMs: PROCESS_TTL_MS,
      sharedTtlMs: SHARED_TTL_MS,
      shared,
    };
  }

  async #unregister(store: CountingStore): Promise<void> {
    // A write in progress would list it again. And hot reload creates another limiter in the same turn.
    await this.#writing;
    if (this.#entries.size > 0) return;
    this.#isRegistered = false;
    this.#renewed.clear();
    await store.run(updateRegistry, this.#call("", [])).catch(() => {});
  }
}

function idOf(kind: Kind, name: string): string {
  return `${kind} ${name}`;
}

/** The common part of a process's records for all its clients, whichever copy of this package writes them. */
export const thisProcess: () => Omit<ProcessRecord, "records" | "more" | "targets" | "details"> =
  shareInProcess("processRecord", () => ({
    process: randomBytes(9).toString("base64url"),
    host: hostname(),
    pid: process.pid,
    startedAt: Math.round(performance.timeOrigin),
    version: VERSION,
  }));

/** A name for a process in the keys of a prefix: 16 random characters. */
export function createProcessName(): string {
  return randomBytes(12).toString("base64url");
}

/** The name of this process for the client and prefix of a store: the same in the registry and in usage. */
export const processNameOf: (store: CountingStore) => { readonly name: string } = shareByPrefix(
  "processName",
  () => ({ name: createProcessName() }),
);
