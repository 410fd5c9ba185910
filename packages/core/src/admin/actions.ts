import { invalidOption } from "../common/errors.ts";
import type { ControlDraft, ControlSnapshot, ControlStore } from "../control/control-store.ts";
import {
  formatDraft,
  requireRoomForInvalidations,
  withInvalidation,
  withoutExpired,
  withoutSubject,
} from "../control/control-store.ts";
import type { NewLogEntry } from "../control/log-entry.ts";
import type { DeniedNetwork, Invalidation, Override } from "../control/record.ts";
import {
  EFFECTIVE_AFTER_MICROS,
  ForgottenSubject,
  formatOverrideKey,
  isActive,
  MAX_DENIED,
  MAX_OVERRIDES,
  toDate,
} from "../control/record.ts";
import type { RedisClient } from "../redis/client-port.ts";
import { readEntries } from "../redis/read-values.ts";
import { formatBlockedSubject } from "../usage/block-sightings.ts";
import { blocksKey, usageKey } from "../usage/layout.ts";
import { eraseSubjects, readUsageClock } from "../usage/operations.ts";
import { membersOf } from "../usage/top-subjects.ts";
import { aclUserOf, systemUser } from "./action-options.ts";
import type {
  ActionOptions,
  ActionResult,
  ForgetResult,
  Inspection,
  NewOverride,
  OverrideKey,
} from "./admin.ts";
import type { AdminCounters, AdminStore, CounterChange } from "./admin-counters.ts";

/** How long an item lasts, in microseconds; undefined until it is removed. */
interface Expiry {
  readonly span: number | undefined;
}

/** The lists of a record with one item for each limiter and subject, or for each network. */
type RecordList = "overrides" | "denyList";

/** The most items of each list, and how to make room. */
const LIST_LIMITS: Readonly<
  Record<RecordList, readonly [most: number, what: string, fix: string]>
> = {
  overrides: [
    MAX_OVERRIDES,
    "overrides",
    "remove some; what many subjects have, such as plans, belongs in limits",
  ],
  denyList: [
    MAX_DENIED,
    "entries on the deny list",
    "remove some, or add the network that has them",
  ],
};

/** The replacement of one item in a record, by another or by nothing. */
interface Replacement<Item> {
  readonly entry: Pick<NewLogEntry, "kind" | "limiter" | "subject" | "network">;
  readonly isThere: (item: Item) => boolean;
  /** The item's negative times count from the moment of writing: -5 stands for 5 µs after it. `by` is the operator. */
  readonly makeNext: (by: string | undefined) => Item | undefined;
}

/** The actions of an operator. All of them reject with the errors of the store and of the control record. */
export class Actions {
  readonly #adminStore: AdminStore;
  readonly #control: ControlStore;

  constructor(adminStore: AdminStore, control: ControlStore) {
    this.#adminStore = adminStore;
    this.#control = control;
  }

  /** The operator and the reason, for the log. */
  async #actorOf({
    by = systemUser(),
    reason,
  }: ActionOptions): Promise<Pick<NewLogEntry, "by" | "aclUser" | "reason">> {
    const aclUser = await aclUserOf(
      this.#adminStore.store.owner,
      this.#adminStore.monitor.timeoutMs,
    );
    return { by, aclUser, reason };
  }

  /**
   * Acts on counters, and then invalidates what all processes have cached about them. If the record cannot
   * be read or written, that fails before the counters are changed.
   */
  async changeCounters(
    kind: Invalidation["kind"],
    counters: AdminCounters,
    options: ActionOptions,
    change: CounterChange,
  ): Promise<ActionResult<Inspection>> {
    const { limiter, subject } = counters;
    const draftOf = ({ record, now }: ControlSnapshot): ControlDraft =>
      withInvalidation(record, { kind, limiter, subject }, now);
    const known = await this.#control.read();
    if (counters.isEmpty)
      return { before: NO_USAGE, after: NO_USAGE, effectiveAt: toDate(known.now) };
    formatDraft(draftOf(known));
    if (options.dryRun) {
      return { ...(await counters.change(change, true)), effectiveAt: effectiveAt(known.now) };
    }
    const actor = await this.#actorOf(options);
    const { before, after } = await counters.change(change, false);
    const entry: NewLogEntry = { kind, limiter, subject, ...actor, before, after };
    const at = await this.#control.change((read) => ({ draft: draftOf(read), entry }));
    return { before, after, effectiveAt: effectiveAt(at) };
  }

  /** Forgets a subject of a limiter, and removes each item that names it in the whole prefix. `erase` erases its counters. */
  async forget(
    counters: AdminCounters,
    options: ActionOptions,
    erase: CounterChange,
  ): Promise<ForgetResult> {
    const { limiter, subject } = counters;
    const { dryRun = false } = options;
    const forgotten = new ForgottenSubject(subject);
    const known = await this.#control.read();
    formatDraft(withoutSubject(known.record, forgotten, known.now));
    const actor = await this.#actorOf(options);
    const { before, after } = await counters.change(erase, dryRun);
    const redacted = forgotten.redact(subject);
    const entry: NewLogEntry = { kind: "forget", limiter, subject: redacted, ...actor };
    let overrides: readonly Override[] = [];
    const at = await this.#control.change(({ record, now }) => {
      overrides = record.overrides.filter((one) => forgotten.matches(one.subject));
      return { draft: withoutSubject(record, forgotten, now), entry };
    }, dryRun);
    const redactedLogEntries = await this.#control.redactLog(forgotten, dryRun);
    const clearedLists = await forgetInUsage(this.#adminStore, limiter, subject, dryRun);
    return {
      before,
      after,
      effectiveAt: effectiveAt(at),
      overrides,
      redactedLogEntries,
      clearedLists,
    };
  }

  async #replace<Item extends Override | DeniedNetwork>(
    list: RecordList,
    options: ActionOptions,
    { entry, isThere, makeNext }: Replacement<Item>,
  ): Promise<ActionResult<Item | undefined>> {
    const actor = await this.#actorOf(options);
    const next = makeNext(actor.by);
    let before: Item | undefined;
    const at = await this.#control.change(({ record, now }) => {
      const items = (record[list] ?? []) as readonly Item[];
      before = items.find((one) => isThere(one) && isActive(one, now));
      const others = items.filter((one) => !isThere(one));
      const changed = next === undefined ? others : [...others, next];
      const draft = withoutExpired({ ...record, [list]: changed }, now);
      if (next !== undefined) requireRoom(draft, list);
      return { draft, entry: { ...entry, ...actor, before, after: next } };
    }, options.dryRun);
    return { before, after: next && withAbsoluteTimes(next, at), effectiveAt: effectiveAt(at) };
  }

  /** Replaces the override of a limiter or a subject. */
  replaceOverride(
    kind: "setOverride" | "unsetOverride",
    key: OverrideKey,
    options: ActionOptions,
    replacement: ({ readonly next: NewOverride } & Expiry) | undefined,
  ): Promise<ActionResult<Override | undefined>> {
    const from = -EFFECTIVE_AFTER_MICROS;
    return this.#replace<Override>("overrides", options, {
      entry: { kind, ...key },
      isThere: (one) => formatOverrideKey(one) === formatOverrideKey(key),
      // Its duration counts from when all processes follow it.
      makeNext: () =>
        replacement && { ...replacement.next, from, until: untilOf(replacement, from) },
    });
  }

  /** Replaces the entry of a network on the deny list. */
  replaceDenied(
    kind: "addToDenyList" | "removeFromDenyList",
    network: string,
    options: ActionOptions,
    replacement: Expiry | undefined,
  ): Promise<ActionResult<DeniedNetwork | undefined>> {
    const { reason } = options;
    return this.#replace<DeniedNetwork>("denyList", options, {
      entry: { kind, network },
      isThere: (one) => one.network === network,
      makeNext: (by) =>
        replacement && {
          network,
          reason,
          by,
          from: -EFFECTIVE_AFTER_MICROS,
          until: untilOf(replacement, 0),
        },
    });
  }

  /** Writes an entry to the log. Resolves with the time, in microseconds. */
  async log(entry: NewLogEntry, options: ActionOptions): Promise<number> {
    const actor = await this.#actorOf(options);
    return this.#control.change(({ record, now }) => ({
      draft: withoutExpired(record, now),
      entry: { ...entry, ...actor },
    }));
  }
}

/** A negative time counts from the moment of writing: -5 stands for 5 µs after it. */
function untilOf({ span }: Expiry, from: number): number | null {
  return span === undefined ? null : from - span;
}

function requireRoom(draft: ControlDraft, list: RecordList): void {
  requireRoomForInvalidations(draft);
  const [most, what, fix] = LIST_LIMITS[list];
  if ((draft[list] ?? []).length <= most) return;
  throw invalidOption(`there are already ${most} ${what}, which is the most: ${fix}`);
}

/** A subject without usage. */
const NO_USAGE: Inspection = { limits: [], blocked: false, blocks: [] };

function effectiveAt(at: number): Date {
  return toDate(at + EFFECTIVE_AFTER_MICROS);
}

/** An override, or an entry of the deny list, as written by the server at a time. */
function withAbsoluteTimes<Made extends Pick<Override, "from" | "until">>(
  made: Made,
  at: number,
): Made {
  const { from, until } = made;
  return { ...made, from: at - from, until: until === null ? null : at - until };
}

/**
 * Erases a subject, in each of its dimensions, from a limiter's lists of usage and from the blocks, unless `isDryRun`. Resolves
 * with the number of lists that named it. Rejects with the store's errors.
 */
async function forgetInUsage(
  { store, monitor }: AdminStore,
  limiter: string,
  subject: Readonly<Record<string, string>>,
  isDryRun: boolean,
): Promise<number> {
  const { prefix } = store;
  const key = usageKey(prefix);
  const [now = 0] = await monitor.run(store, readUsageClock, { prefix }, key);
  const dimensions = Object.entries(subject);
  const blocked = dimensions.flatMap(([dimension, text]) =>
    (["hashed", "plain"] as const).map((subjects) =>
      formatBlockedSubject({ limiter, dimension, subject: text, subjects }),
    ),
  );
  const members = dimensions.flatMap(([dimension, text]) => membersOf(dimension, text));
  const withReasons = await blocksWithReasons(store, blocked);
  const call = { prefix, limiter, now, members, blocked: [...blocked, ...withReasons], isDryRun };
  const [, count = 0] = await monitor.run(store, eraseSubjects, call, key);
  return count;
}

/** The stored blocks of these subjects that have a reason; one reported after this read is not erased. Rejects like the store. */
async function blocksWithReasons(
  { owner, prefix }: AdminStore["store"],
  blocked: readonly string[],
): Promise<readonly string[]> {
  const [found] = await readEntries(owner as RedisClient, "zset", [blocksKey(prefix)]);
  const members = found?.value?.map(([member]) => member) ?? [];
  return members.filter((member) => blocked.some((named) => member.startsWith(`${named} `)));
}

/** The states into which an operator can order a breaker. */
export type BreakerOrderState = "closed" | "forced-open" | "disabled" | "metrics-only";

/** Closing forgets all calls. */
const NO_CALLS = {
  ...{ calls: 0, successes: 0, failures: 0, slowCalls: 0 },
  ...{ successRate: null, slowCallRate: null },
} as const;

/**
 * Returns the snapshot that a target will have after an operator's order. `before` is the snapshot that `snapshot()` of its
 * breaker returns now, and `state` is the ordered state. Use it for a preview, and for the log, whose entry is written before
 * the order. `retryAfterMs` and `openings` are 0 after every order.
 */
export function previewOrder<Before extends object>(
  before: Before,
  state: BreakerOrderState,
): Before {
  const calls = state === "closed" ? NO_CALLS : {};
  return { ...before, ...calls, state, openings: 0, retryAfterMs: 0 };
}

/**
 * Returns the registry's options in the form that `createBreaker` takes. For a function `openFor` the registry lists the times
 * that it returned; they become a function again.
 */
export function breakerOptionsOf(
  listed: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const { openFor } = listed;
  if (!Array.isArray(openFor)) return listed;
  return {
    ...listed,
    openFor: (opened: number): unknown => openFor[Math.min(opened, openFor.length) - 1],
  };
}
