import { fingerprint } from "../common/key.ts";
import type { CountingStore } from "../store/store.ts";
import type { SharedRecord } from "./operations.ts";
import type {
  BreakerTargets,
  HttpUse,
  LimiterRecord,
  RegistryPolicy,
  RegistryRecord,
} from "./record.ts";
import { RECORD_FORMAT } from "./record.ts";

/** The most uses of a limiter that are listed. */
const MAX_HTTP_USES = 16;

/** The most policies of other shapes that are listed with a limiter. */
const MAX_PER_CALL_POLICIES = 64;

/** Longer records, in characters, are listed without details. */
const MAX_RECORD_CHARACTERS = 16_384;

/** A limiter or breaker of this process, for its record in the registry. */
export class RegistryEntry {
  /** The store that it was created on. */
  readonly store: CountingStore;
  /** Names the targets of a breaker; undefined if an earlier version of Headgate listed it. */
  readonly getTargetNames: GetTargetNames | undefined;
  readonly #record: RegistryRecord;
  readonly #httpUses = new Map<string, HttpUse>();
  /** By shape, with the number of users in this process. */
  readonly #perCallPolicies = new Map<string, { readonly policy: RegistryPolicy; users: number }>();
  #formatted: SharedRecord | undefined;

  constructor(record: RegistryRecord, store: CountingStore, nameTargets?: GetTargetNames) {
    this.#record = record;
    this.store = store;
    this.getTargetNames = nameTargets;
  }

  addHttpUse(use: HttpUse): void {
    const text = JSON.stringify(use);
    if (this.#httpUses.has(text) || this.#httpUses.size >= MAX_HTTP_USES) return;
    this.#httpUses.set(text, use);
    this.#formatted = undefined;
  }

  addPerCallPolicy(policy: RegistryPolicy): void {
    const id = formatShapes(policy);
    const known = this.#perCallPolicies.get(id);
    if (known === undefined) this.#perCallPolicies.set(id, { policy, users: 1 });
    else known.users += 1;
    this.#formatted = undefined;
  }

  removePerCallPolicy(policy: RegistryPolicy): void {
    const id = formatShapes(policy);
    const known = this.#perCallPolicies.get(id);
    if (known === undefined) return;
    known.users -= 1;
    if (known.users === 0) this.#perCallPolicies.delete(id);
    this.#formatted = undefined;
  }

  toSharedRecord(): SharedRecord {
    this.#formatted ??= formatRecord(
      this.#record,
      sortedValues(this.#httpUses),
      sortedValues(this.#perCallPolicies).map(({ policy }) => policy),
    );
    return this.#formatted;
  }
}

/** In an order that is the same in all processes with the same items. */
function sortedValues<T>(known: ReadonlyMap<string, T>): readonly T[] {
  return [...known.keys()].sort().map((id) => known.get(id) as T);
}

/** Equal for policies that count in the same keys. */
function formatShapes({ shapes }: RegistryPolicy): string {
  return JSON.stringify(shapes.map(({ per, fingerprint }) => [per, fingerprint]).sort());
}

function formatRecord(
  record: RegistryRecord,
  uses: readonly HttpUse[],
  perCallPolicies: readonly RegistryPolicy[],
): SharedRecord {
  const write = (details: object) =>
    JSON.stringify({ format: RECORD_FORMAT, ...record, ...details });
  const own = record.kind === "limiter" ? { uses } : {};
  const whole = write(own);
  const listed =
    perCallPolicies.length === 0
      ? {}
      : fitPolicies(perCallPolicies, MAX_RECORD_CHARACTERS - whole.length);
  const text =
    whole.length > MAX_RECORD_CHARACTERS
      ? formatWithoutDetails(record)
      : write({ ...own, ...listed });
  return { hash: fingerprint(text), text };
}

/** Room for the property names, and for the number of policies left out. */
const POLICIES_OVERHEAD = 40;

/** As many policies as fit, in characters. */
function fitPolicies(
  perCallPolicies: readonly RegistryPolicy[],
  room: number,
): Pick<LimiterRecord, "perCallPolicies" | "morePerCallPolicies"> {
  let left = room - POLICIES_OVERHEAD;
  const listed = perCallPolicies.slice(0, MAX_PER_CALL_POLICIES).filter((policy) => {
    const { length } = JSON.stringify(policy);
    if (length + 1 > left) return false;
    left -= length + 1;
    return true;
  });
  const more = perCallPolicies.length - listed.length;
  return { perCallPolicies: listed, ...(more > 0 ? { morePerCallPolicies: more } : {}) };
}

function formatWithoutDetails(record: RegistryRecord): string {
  const details =
    record.kind === "limiter" ? { limits: [], shapes: [], uses: [] } : { options: {} };
  return JSON.stringify({ format: RECORD_FORMAT, ...record, ...details, isTruncated: true });
}

/** The most targets that are listed for a breaker, of one process and of all together. */
export const MAX_TARGETS = 200;

/**
 * The longest name that is listed, in characters. A breaker shortens longer ones, and a shortened name would not lead to the
 * target.
 */
export const MAX_TARGET_CHARACTERS = 100;

/** The most bytes of names, as JSON, in the record of a process. */
const MAX_NAME_BYTES = 65_536;

/** Names the targets of a breaker, the most important first. */
export type GetTargetNames = () => Iterable<string>;

/** The targets of some breakers for the registry, by the hash of each breaker's record. Counts those that do not fit. */
export function collectTargets(
  breakers: ReadonlyMap<string, GetTargetNames>,
): readonly BreakerTargets[] {
  let room = MAX_NAME_BYTES;
  return [...breakers].map(([record, getTargetNames]) => {
    const names: string[] = [];
    let more = 0;
    for (const name of getTargetNames()) {
      const isListed = names.length < MAX_TARGETS && name.length <= MAX_TARGET_CHARACTERS;
      const bytes = isListed ? Buffer.byteLength(JSON.stringify(name)) + 1 : 0;
      if (isListed && bytes <= room) names.push(name);
      else more += 1;
      room -= bytes <= room ? bytes : 0;
    }
    return { record, names: names.sort(), more };
  });
}
