import { fingerprint } from "../common/key.ts";
import type { Limit } from "../common/policy.ts";
import type { OnUnavailable } from "../pipeline/fallback-stage.ts";
import type { CountingStore } from "../store/store.ts";
import type { SharedRecord } from "./operations.ts";

/** How HTTP subjects are formed, without secrets. */
export type SubjectSource =
  /** From the client's address: its first `ipv4Prefix` (missing for all 32) or `ipv6Prefix` bits. */
  | {
      readonly by: "ip";
      readonly ipv6Prefix: number;
      readonly ipv4Prefix?: number | undefined;
    }
  /** From a header's value, which is hashed; as an HMAC if a secret was given. */
  | { readonly by: "header"; readonly name: string; readonly hash: "sha256" | "hmac" }
  /** From several keys together. */
  | { readonly by: "combined"; readonly keys: readonly SubjectSource[] }
  /** By a function of the application. */
  | { readonly by: "function" };

/** How membership in a list is decided: by addresses and networks, or by a function. */
export type ListSource = "addresses" | "function";

/** How requests are counted behind an adapter. */
export interface HttpUse {
  /** `"express"`, `"fastify"`, or the name of the application's own adapter. */
  readonly adapter: string;
  /** How the subjects of each dimension are formed; `"global"` is left out, because it has no key. */
  readonly keys: Readonly<Record<string, SubjectSource>>;
  readonly missingKey: "ip" | "reject" | "skip";
  /** The header that names the client's address. */
  readonly addressHeader?: string | undefined;
  readonly allowList?: ListSource | undefined;
  readonly denyList?: ListSource | undefined;
}

/** The part of a policy that shares the keys of a dimension. */
export interface RegistryShape {
  readonly per: string;
  /** The last part of those keys. */
  readonly fingerprint: string;
  /** The names of its limits. */
  readonly limits: readonly string[];
}

/** A policy whose shape differs from the limiter's own, passed by its requests or calls: it has counters of its own. */
export interface RegistryPolicy {
  /** The limits of the first such policy; later ones may have other numbers. */
  readonly limits: readonly Limit[];
  readonly shapes: readonly RegistryShape[];
}

/** A limiter's record in the registry. */
export interface LimiterRecord {
  readonly kind: "limiter";
  readonly name: string;
  /** Equal if and only if two limiters have the same policy. */
  readonly policy: string;
  /** The limits as configured. */
  readonly limits: readonly Limit[];
  /** `"settle"` if the limiter sets blocks when charges are settled; missing otherwise. */
  readonly blockOn?: "settle" | undefined;
  /** The shapes of its policy, at most 64. */
  readonly shapes: readonly RegistryShape[];
  /** The policies of other shapes that are in use: at most 64; missing if there are none. */
  readonly perCallPolicies?: readonly RegistryPolicy[] | undefined;
  /** The number of such policies that are left out because they are too long; missing if none is. */
  readonly morePerCallPolicies?: number | undefined;
  /** The name of the limiter that it extends. */
  readonly extends?: string | undefined;
  readonly shadow: boolean;
  /** How it decides while the store is unavailable. */
  readonly onUnavailable: OnUnavailable;
  /** With `"local"`: the share of each limit that a process admits then, above 0, up to 1. */
  readonly localShare?: number | undefined;
  /** How adapters use it: at most 16 entries; empty without HTTP. */
  readonly uses: readonly HttpUse[];
  /** The version of Headgate. */
  readonly version: string;
  /** Whether the record was too long, so that limits, shapes and uses were left out. */
  readonly isTruncated?: boolean | undefined;
}

/** A breaker's record in the registry. */
export interface BreakerRecord {
  readonly kind: "breaker";
  readonly name: string;
  /** Equal if and only if two breakers have the same policy. */
  readonly policy: string;
  /** The configured options of the policy; for a function `openFor`, the times that it returns. */
  readonly options: Readonly<Record<string, unknown>>;
  /** The last part of the keys in which calls are counted. */
  readonly fingerprint: string;
  /** The version of Headgate. */
  readonly version: string;
  /** Whether the record was too long, so that its options were left out. */
  readonly isTruncated?: boolean | undefined;
}

/** A process's record in the registry, for one client and prefix. */
export interface ProcessRecord {
  /** The same for all clients of a process. */
  readonly process: string;
  readonly host: string;
  readonly pid: number;
  /** When the process started: milliseconds since the epoch, by its own clock. */
  readonly startedAt: number;
  /** The version of Headgate. */
  readonly version: string;
  /** The hashes of the records of its limiters and breakers, at most 1,000. */
  readonly records: readonly string[];
  /** How many more limiters and breakers it has. */
  readonly more: number;
  /** The targets of its breakers; missing if it does not report them. */
  readonly targets?: readonly BreakerTargets[] | undefined;
  /** What other packages list; missing if none does. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

/** The targets of a breaker that a process has called and still tracks. */
export interface BreakerTargets {
  /** The hash of the breaker's record. */
  readonly record: string;
  /** The names of the targets: at most 200, each of 1 to 100 characters. */
  readonly names: readonly string[];
  /** How many more there are. */
  readonly more: number;
}

/** A record listed under a name. */
export type RegistryRecord = LimiterRecord | BreakerRecord;

/** Part of every record. A reader that expects another format reports it. */
export const RECORD_FORMAT = 1;

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
  /** Names the targets of a breaker; undefined for a limiter. */
  readonly getTargetNames: GetTargetNames | undefined;
  readonly record: RegistryRecord;
  readonly #httpUses = new Map<string, HttpUse>();
  /** By shape, with the number of users in this process. */
  readonly #perCallPolicies = new Map<string, { readonly policy: RegistryPolicy; users: number }>();
  #formatted: SharedRecord | undefined;

  constructor(record: RegistryRecord, store: CountingStore, nameTargets?: GetTargetNames) {
    this.record = record;
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
      this.record,
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
