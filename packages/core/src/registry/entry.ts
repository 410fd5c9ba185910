import { fingerprint } from "../common/key.ts";
import type { CountingStore } from "../store/store.ts";
import type { NameTargets } from "./listed-targets.ts";
import type { HttpUse, LimiterRecord, ListedPolicy, ListedRecord } from "./registry.ts";
import { RECORD_FORMAT } from "./registry.ts";
import type { SharedRecord } from "./step.ts";

/** The most uses of a limiter that are listed. */
const MOST_USES = 16;

/** The most policies of other shapes that are listed with a limiter. */
const MOST_OTHERS = 64;

/** Longer records, in characters, are listed without details. */
const LONGEST = 16_384;

/** A limiter or breaker of this process, for its record in the directory. */
export class Entry {
  /** The store that it was created on. */
  readonly store: CountingStore;
  /** Names the targets of a breaker; undefined if an earlier version of Headgate listed it. */
  readonly nameTargets: NameTargets | undefined;
  readonly #record: ListedRecord;
  readonly #uses = new Map<string, HttpUse>();
  /** By shape, with the number of users in this process. */
  readonly #others = new Map<string, { readonly policy: ListedPolicy; users: number }>();
  #written: SharedRecord | undefined;

  constructor(record: ListedRecord, store: CountingStore, nameTargets?: NameTargets) {
    this.#record = record;
    this.store = store;
    this.nameTargets = nameTargets;
  }

  addUse(use: HttpUse): void {
    const text = JSON.stringify(use);
    if (this.#uses.has(text) || this.#uses.size >= MOST_USES) return;
    this.#uses.set(text, use);
    this.#written = undefined;
  }

  addOther(policy: ListedPolicy): void {
    const id = idOf(policy);
    const known = this.#others.get(id);
    if (known === undefined) this.#others.set(id, { policy, users: 1 });
    else known.users += 1;
    this.#written = undefined;
  }

  removeOther(policy: ListedPolicy): void {
    const id = idOf(policy);
    const known = this.#others.get(id);
    if (known === undefined) return;
    known.users -= 1;
    if (known.users === 0) this.#others.delete(id);
    this.#written = undefined;
  }

  write(): SharedRecord {
    this.#written ??= written(
      this.#record,
      inOrder(this.#uses),
      inOrder(this.#others).map(({ policy }) => policy),
    );
    return this.#written;
  }
}

/** In an order that is the same in all processes with the same items. */
function inOrder<T>(known: ReadonlyMap<string, T>): readonly T[] {
  return [...known.keys()].sort().map((id) => known.get(id) as T);
}

/** Equal for policies that count in the same keys. */
function idOf({ shapes }: ListedPolicy): string {
  return JSON.stringify(shapes.map(({ per, fingerprint }) => [per, fingerprint]).sort());
}

function written(
  record: ListedRecord,
  uses: readonly HttpUse[],
  others: readonly ListedPolicy[],
): SharedRecord {
  const write = (details: object) =>
    JSON.stringify({ format: RECORD_FORMAT, ...record, ...details });
  const own = record.kind === "limiter" ? { uses } : {};
  const whole = write(own);
  const listed = others.length === 0 ? {} : withinRoom(others, LONGEST - whole.length);
  const text = whole.length > LONGEST ? withoutDetails(record) : write({ ...own, ...listed });
  return { hash: fingerprint(text), text };
}

/** Room for the property names, and for the number of policies left out. */
const AROUND_OTHERS = 40;

/** As many policies as fit, in characters. */
function withinRoom(
  others: readonly ListedPolicy[],
  room: number,
): Pick<LimiterRecord, "others" | "moreOthers"> {
  let left = room - AROUND_OTHERS;
  const listed = others.slice(0, MOST_OTHERS).filter((policy) => {
    const { length } = JSON.stringify(policy);
    if (length + 1 > left) return false;
    left -= length + 1;
    return true;
  });
  const more = others.length - listed.length;
  return { others: listed, ...(more > 0 ? { moreOthers: more } : {}) };
}

function withoutDetails(record: ListedRecord): string {
  const details =
    record.kind === "limiter" ? { limits: [], shapes: [], uses: [] } : { options: {} };
  return JSON.stringify({ format: RECORD_FORMAT, ...record, ...details, isCut: true });
}
