import { invalidOption } from "../common/errors.ts";
import type { Draft, ReadControl } from "../control/control-edit.ts";
import {
  requireRoomForOrders,
  withOrder,
  withoutPast,
  withoutSubject,
  writeDraft,
} from "../control/control-edit.ts";
import type { ControlStore } from "../control/control-store.ts";
import { ForgottenSubject } from "../control/forgotten-subject.ts";
import type { EntryText } from "../control/log-entry.ts";
import type { DeniedNetwork, Order, Override } from "../control/record.ts";
import {
  formatKey,
  IN_FORCE_AFTER,
  lasts,
  MAX_DENIED,
  MAX_OVERRIDES,
  toDate,
} from "../control/record.ts";
import { aclUserOf } from "../redis/acl-user.ts";
import type { AdminCounters, OperatedStore, Work } from "./admin-counters.ts";
import { forgetInUsage } from "./forget-in-usage.ts";
import type {
  Action,
  ActionOptions,
  Forgotten,
  Inspection,
  NewOverride,
  OverrideKey,
} from "./operator.ts";
import { systemUser } from "./system-user.ts";

/** How long an item lasts, in microseconds; undefined until it is removed. */
interface Lasting {
  readonly span: number | undefined;
}

/** The lists of a record with one item for each limiter and subject, or for each network. */
type List = "overrides" | "denied";

/** The most items of each list, and how to make room. */
const FULL: Readonly<Record<List, readonly [most: number, what: string, remedy: string]>> = {
  overrides: [
    MAX_OVERRIDES,
    "overrides",
    "remove some; what many subjects have, such as plans, belongs in limits",
  ],
  denied: [MAX_DENIED, "entries on the deny list", "remove some, or add the network that has them"],
};

/** The replacement of one item in a record, by another or by nothing. */
interface Replacement<Item> {
  readonly entry: Pick<EntryText, "kind" | "limiter" | "subject" | "network">;
  readonly isThere: (item: Item) => boolean;
  /** The item's times are relative to the moment of writing. `by` is the operator. */
  readonly makeNext: (by: string | undefined) => Item | undefined;
}

/** The actions of an operator. All of them reject with the errors of the store and of the control record. */
export class Actions {
  readonly #place: OperatedStore;
  readonly #control: ControlStore;

  constructor(place: OperatedStore, control: ControlStore) {
    this.#place = place;
    this.#control = control;
  }

  /** The operator and the reason, for the log. */
  async #namesOf({
    by = systemUser(),
    reason,
  }: ActionOptions): Promise<Pick<EntryText, "by" | "aclUser" | "reason">> {
    const aclUser = await aclUserOf(this.#place.store.owner, this.#place.watch.timeoutMs);
    return { by, aclUser, reason };
  }

  /**
   * Acts on counters, and then orders all processes to ask again, because their caches may be out of date. If the record cannot
   * be read or written, that fails before the counters are changed.
   */
  async act(
    kind: Order["kind"],
    counters: AdminCounters,
    options: ActionOptions,
    work: Work,
  ): Promise<Action<Inspection>> {
    const { limiter, subject } = counters;
    const withIt = ({ record, now }: ReadControl): Draft =>
      withOrder(record, { kind, limiter, subject }, now);
    const known = await this.#control.read();
    if (counters.isEmpty) return { before: NONE, after: NONE, inForceAt: toDate(known.now) };
    writeDraft(withIt(known));
    if (options.dryRun) {
      return { ...(await counters.change(work, true)), inForceAt: inForceAfter(known.now) };
    }
    const names = await this.#namesOf(options);
    const { before, after } = await counters.change(work, false);
    const entry: EntryText = { kind, limiter, subject, ...names, before, after };
    const at = await this.#control.change((read) => ({ draft: withIt(read), entry }));
    return { before, after, inForceAt: inForceAfter(at) };
  }

  /** Forgets a subject of a limiter, and removes each item that names it in the whole prefix. `work` erases its counters. */
  async forget(counters: AdminCounters, options: ActionOptions, work: Work): Promise<Forgotten> {
    const { limiter, subject } = counters;
    const { dryRun = false } = options;
    const forgotten = new ForgottenSubject(subject);
    const known = await this.#control.read();
    writeDraft(withoutSubject(known.record, forgotten, known.now));
    const names = await this.#namesOf(options);
    const { before, after } = await counters.change(work, dryRun);
    const hidden = forgotten.hideIn(subject);
    const entry: EntryText = { kind: "forget", limiter, subject: hidden, ...names };
    let overrides: readonly Override[] = [];
    const at = await this.#control.change(({ record, now }) => {
      overrides = record.overrides.filter((one) => forgotten.isIn(one.subject));
      return { draft: withoutSubject(record, forgotten, now), entry };
    }, dryRun);
    const logged = await this.#control.forgetInLog(forgotten, dryRun);
    const listed = await forgetInUsage(this.#place, limiter, subject, dryRun);
    return { before, after, inForceAt: inForceAfter(at), overrides, logged, listed };
  }

  async #replace<Item extends Override | DeniedNetwork>(
    list: List,
    options: ActionOptions,
    { entry, isThere, makeNext }: Replacement<Item>,
  ): Promise<Action<Item | undefined>> {
    const names = await this.#namesOf(options);
    const next = makeNext(names.by);
    let before: Item | undefined;
    const at = await this.#control.change(({ record, now }) => {
      const items = (record[list] ?? []) as readonly Item[];
      before = items.find((one) => isThere(one) && (list === "overrides" || lasts(one, now)));
      const others = items.filter((one) => !isThere(one));
      const changed = next === undefined ? others : [...others, next];
      const draft = withoutPast({ ...record, [list]: changed }, now);
      if (next !== undefined) requireRoom(draft, list);
      return { draft, entry: { ...entry, ...names, before, after: next } };
    }, options.dryRun);
    return { before, after: next && madeAt(next, at), inForceAt: inForceAfter(at) };
  }

  /** Replaces the override of a limiter or a subject. */
  replaceOverride(
    kind: "setOverride" | "unsetOverride",
    whose: OverrideKey,
    options: ActionOptions,
    made: ({ readonly next: NewOverride } & Lasting) | undefined,
  ): Promise<Action<Override | undefined>> {
    const from = -IN_FORCE_AFTER;
    return this.#replace<Override>("overrides", options, {
      entry: { kind, ...whose },
      isThere: (one) => formatKey(one) === formatKey(whose),
      // Its duration counts from when all processes follow it.
      makeNext: () => made && { ...made.next, from, until: untilOf(made, from) },
    });
  }

  /** Replaces the entry of a network on the deny list. */
  replaceDenied(
    kind: "addToDenyList" | "removeFromDenyList",
    network: string,
    options: ActionOptions,
    made: Lasting | undefined,
  ): Promise<Action<DeniedNetwork | undefined>> {
    const { reason } = options;
    return this.#replace<DeniedNetwork>("denied", options, {
      entry: { kind, network },
      isThere: (one) => one.network === network,
      makeNext: (by) =>
        made && { network, reason, by, from: -IN_FORCE_AFTER, until: untilOf(made, 0) },
    });
  }

  /** Writes an entry to the log. Resolves with the time, in microseconds. */
  async log(entry: EntryText, options: ActionOptions): Promise<number> {
    const names = await this.#namesOf(options);
    return this.#control.change(({ record, now }) => ({
      draft: withoutPast(record, now),
      entry: { ...entry, ...names },
    }));
  }
}

/** A negative time is relative to the moment of writing. */
function untilOf({ span }: Lasting, from: number): number | null {
  return span === undefined ? null : from - span;
}

function requireRoom(draft: Draft, list: List): void {
  requireRoomForOrders(draft);
  const [most, what, remedy] = FULL[list];
  if ((draft[list] ?? []).length <= most) return;
  throw invalidOption(`there are already ${most} ${what}, which is the most: ${remedy}`);
}

/** A subject without usage. */
const NONE: Inspection = { limits: [], blocked: false, blocks: [] };

function inForceAfter(at: number): Date {
  return toDate(at + IN_FORCE_AFTER);
}

/** An override, or an entry of the deny list, as written by the server at a time. */
function madeAt<Made extends Pick<Override, "from" | "until">>(made: Made, at: number): Made {
  const { from, until } = made;
  return { ...made, from: at - from, until: until === null ? null : at - until };
}
