import { fingerprint } from "../../base/key.ts";
import type { Store } from "../../store/store.ts";
import type { HttpUse, ListedRecord } from "./directory.ts";
import { RECORD_FORMAT } from "./directory.ts";
import type { SharedRecord } from "./step.ts";

/** The most ways of using a limiter that are listed. */
const MOST_USES = 16;

/** A record that is longer, in characters, is listed without its details. */
const LONGEST = 16_384;

/** A limiter or breaker of this process, as it is listed. */
export class Entry {
  /** The store that it was made on. */
  readonly store: Store;
  readonly #record: ListedRecord;
  readonly #uses = new Map<string, HttpUse>();
  #written: SharedRecord | undefined;

  constructor(record: ListedRecord, store: Store) {
    this.#record = record;
    this.store = store;
  }

  addUse(use: HttpUse): void {
    const text = JSON.stringify(use);
    if (this.#uses.has(text) || this.#uses.size >= MOST_USES) return;
    this.#uses.set(text, use);
    this.#written = undefined;
  }

  write(): SharedRecord {
    this.#written ??= written(this.#record, this.#uses);
    return this.#written;
  }
}

/** Equal in all processes that have the same: uses are sorted, not in the order in which they were created. */
function written(record: ListedRecord, uses: ReadonlyMap<string, HttpUse>): SharedRecord {
  const sorted = [...uses.keys()].sort().map((text) => uses.get(text));
  const details = record.kind === "limiter" ? { uses: sorted } : {};
  const whole = JSON.stringify({ format: RECORD_FORMAT, ...record, ...details });
  const text = whole.length > LONGEST ? withoutDetails(record) : whole;
  return { hash: fingerprint(text), text };
}

function withoutDetails(record: ListedRecord): string {
  const details =
    record.kind === "limiter" ? { limits: [], shapes: [], uses: [] } : { options: {} };
  return JSON.stringify({ format: RECORD_FORMAT, ...record, ...details, isCut: true });
}
