import { blockCounters, forgetCounters } from "../deciding/changes.ts";
import type { Link } from "../deciding/link.ts";
import { formatKind, formatNumber, HeadgateError } from "../errors.ts";
import type { ControlRecord, DeniedNetwork, Order, Override } from "../fleet/control/record.ts";
import { IN_FORCE_AFTER, MAX_DENIED, MAX_OVERRIDES } from "../fleet/control/record.ts";
import type { SubjectCounter } from "../limiter/counters.ts";
import { unitsOnly } from "../limiter/counters.ts";
import { readFailureOptions } from "../limiter/outage/failure-options.ts";
import { watchStore } from "../limiter/outage/store-watch.ts";
import { rejectMore, rejectUnknownOptions } from "../options.ts";
import { aclUserOf } from "../redis/acl-user.ts";
import type { Store } from "../store/store.ts";
import { requireStore } from "../store/store.ts";
import type { Duration } from "../time.ts";
import { parseDuration } from "../time.ts";
import { readActionOptions, readBreakerAction } from "./action-options.ts";
import type { Draft, ReadControl } from "./control-changes.ts";
import {
  requireRoomForOrders,
  withDenied,
  withNothing,
  withOrder,
  withOverrides,
  withoutSubject,
  writeDraft,
} from "./control-changes.ts";
import type { ControlChange } from "./control-store.ts";
import { ControlStore } from "./control-store.ts";
import { entriesInForce, readDenied, requireShortReason } from "./deny-list.ts";
import { forgetInUsage } from "./forget-in-usage.ts";
import { ForgottenSubject } from "./forgotten-subject.ts";
import type { EntryText } from "./log-entry.ts";
import type { OperatedStore, Work } from "./operated-counters.ts";
import { OperatedCounters } from "./operated-counters.ts";
import type {
  Action,
  ActionOptions,
  Forgotten,
  Inspection,
  Operator,
  OverridePlace,
} from "./operator.ts";
import { readFor, readOverride, readPlace } from "./override-options.ts";
import { systemUser } from "./system-user.ts";

/** Options of `operate`. */
export interface OperateOptions {
  /** The longest wait for each call to the store: 1 ms to 1 minute. Default 5 seconds. */
  readonly storeTimeout?: Duration | undefined;
}

type ActionKind = Order["kind"];

/**
 * Creates an operator for the limiters that count in Redis under the prefix of a store. Each action takes effect in all processes, and
 * is written to the log. Throws `HEADGATE_INVALID_OPTION`.
 */
export function operate(store: Store, options: OperateOptions = {}): Operator {
  rejectUnknownOptions("operate", options, ["storeTimeout"]);
  const place = placeOf(store, options.storeTimeout ?? "5s");
  const control = new ControlStore(place);

  /** Watches the store for this call only: it is asked even if it was down before. */
  async function watched<T>(work: () => Promise<T>): Promise<T> {
    const release = place.watch.use();
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Changes the control record, or only makes the change. Resolves with when, in microseconds. */
  function change(
    isDry: boolean | undefined,
    makeOf: (read: ReadControl) => ControlChange,
  ): Promise<number> {
    return isDry === true ? control.preview(makeOf) : control.change(makeOf);
  }

  /** Who and why, for the log. */
  async function namesOf({ by = systemUser(), reason }: ActionOptions) {
    const aclUser = await aclUserOf(store.owner, place.watch.timeoutMs);
    return { by, aclUser, reason };
  }

  /** Acts on counters, and then orders all processes to ask again, because what they remember may be out of date. */
  async function act(
    kind: ActionKind,
    counters: OperatedCounters,
    options: ActionOptions,
    work: Work,
  ): Promise<Action<Inspection>> {
    const { limiter, subject } = counters;
    // A record that cannot be read or written is noticed before anything is done.
    const { record, now } = await control.read();
    writeDraft(withOrder(record, { kind, limiter, subject }, now));
    if (options.dryRun)
      return { ...(await counters.change(work, true)), inForceAt: inForceAfter(now) };
    const names = await namesOf(options);
    const { before, after } = await counters.change(work, false);
    const entry: EntryText = { kind, limiter, subject, ...names, before, after };
    const at = await control.change(({ record, now }) => ({
      draft: withOrder(record, { kind, limiter, subject }, now),
      entry,
    }));
    return { before, after, inForceAt: inForceAfter(at) };
  }

  /** Forgets a subject of a limiter, and what names it in the whole prefix. */
  async function forgetAll(counters: OperatedCounters, options: ActionOptions): Promise<Forgotten> {
    const { limiter, subject } = counters;
    const forgotten = new ForgottenSubject(subject);
    const known = await control.read();
    writeDraft(withoutSubject(known.record, forgotten, known.now));
    const names = await namesOf(options);
    const work: Work = async (link, all) => {
      // A reset leaves blocks by hand.
      await blockCounters(link, all, 0);
      const units = unitsOnly(all);
      if (units.length > 0) await forgetCounters(link, units);
    };
    const { dryRun = false } = options;
    const { before, after } = await counters.change(work, dryRun);
    const hidden = forgotten.hideIn(subject);
    const entry: EntryText = { kind: "forget", limiter, subject: hidden, ...names };
    let overrides: readonly Override[] = [];
    const at = await change(dryRun, ({ record, now }) => {
      overrides = record.overrides.filter((one) => forgotten.isIn(one.subject));
      return { draft: withoutSubject(record, forgotten, now), entry };
    });
    const logged = await control.forgetInLog(forgotten, dryRun);
    const listed = await forgetInUsage(place, limiter, subject, dryRun);
    return { before, after, inForceAt: inForceAfter(at), overrides, logged, listed };
  }

  /** Replaces the existing override, by another one or by none. */
  async function replace(
    kind: "setOverride" | "unsetOverride",
    overridePlace: OverridePlace,
    next: Override | undefined,
    options: ActionOptions,
  ): Promise<Action<Override | undefined>> {
    const names = await namesOf(options);
    let before: Override | undefined;
    const at = await change(options.dryRun, ({ record, now }) => {
      const isThere = (one: Override): boolean => formatPlace(one) === formatPlace(overridePlace);
      before = record.overrides.find(isThere);
      const others = record.overrides.filter((one) => !isThere(one));
      const draft = withOverrides(record, next === undefined ? others : [...others, next], now);
      if (next !== undefined) requireRoom(draft);
      return { draft, entry: { kind, ...overridePlace, ...names, before, after: next } };
    });
    return { before, after: next && madeAt(next, at), inForceAt: inForceAfter(at) };
  }

  /** Replaces the entry of a network, by another one or by none. */
  async function replaceDenied(
    kind: "addToDenyList" | "removeFromDenyList",
    network: string,
    makeNext: (by: string | undefined) => DeniedNetwork | undefined,
    options: ActionOptions,
  ): Promise<Action<DeniedNetwork | undefined>> {
    const names = await namesOf(options);
    const next = makeNext(names.by);
    let before: DeniedNetwork | undefined;
    const at = await change(options.dryRun, ({ record, now }) => {
      const { denied = [] } = record;
      before = entriesInForce(denied, now, undefined).find((one) => one.network === network);
      const others = denied.filter((one) => one.network !== network);
      const draft = withDenied(record, next === undefined ? others : [...others, next], now);
      if (next !== undefined) requireRoomToDeny(draft);
      return { draft, entry: { kind, network, ...names, before, after: next } };
    });
    return { before, after: next && madeAt(next, at), inForceAt: inForceAfter(at) };
  }

  return {
    async inspect(limiter, subject) {
      const counters = new OperatedCounters(place, limiter, subject);
      return watched(() => counters.look());
    },

    async peek(limiter, subject, options = {}, more?: unknown) {
      rejectMore("peek(limiter, subject, options)", more);
      rejectUnknownOptions("peek", options, ["cost"]);
      const counters = new OperatedCounters(place, limiter, subject);
      return watched(async () => counters.peek(options.cost ?? 1, await control.read()));
    },

    async reset(limiter, subject, options = {}, more?: unknown) {
      rejectMore("reset(limiter, subject, options)", more);
      const read = readActionOptions("reset", options);
      const counters = new OperatedCounters(place, limiter, subject);
      const forget = async (link: Link, all: readonly SubjectCounter[]) => {
        const units = unitsOnly(all);
        return units.length > 0 && forgetCounters(link, units);
      };
      return watched(() => act("reset", counters, read, forget));
    },

    async block(limiter, subject, duration, options = {}, more?: unknown) {
      rejectMore("block(limiter, subject, duration, options)", more);
      const read = readActionOptions("block", options);
      const span = parseDuration(duration, "duration", "HEADGATE_INVALID_OPTION", formatNumber);
      const counters = new OperatedCounters(place, limiter, subject);
      const work = (link: Link, all: readonly SubjectCounter[]) => blockCounters(link, all, span);
      return watched(() => act("block", counters, read, work));
    },

    async unblock(limiter, subject, options = {}, more?: unknown) {
      rejectMore("unblock(limiter, subject, options)", more);
      const read = readActionOptions("unblock", options);
      const counters = new OperatedCounters(place, limiter, subject);
      const work = (link: Link, all: readonly SubjectCounter[]) => blockCounters(link, all, 0);
      return watched(() => act("unblock", counters, read, work));
    },

    async forget(limiter, subject, options = {}, more?: unknown) {
      rejectMore("forget(limiter, subject, options)", more);
      const read = readActionOptions("forget", options);
      const counters = new OperatedCounters(place, limiter, subject);
      return watched(() => forgetAll(counters, read));
    },

    async setOverride(override, options = {}, more?: unknown) {
      rejectMore("setOverride(override, options)", more);
      const read = readActionOptions("setOverride", options, ["for"]);
      const span = readFor(options.for);
      const until = span === undefined ? null : -(IN_FORCE_AFTER + span);
      const next = { ...readOverride(override), from: -IN_FORCE_AFTER, until };
      const whose = readPlace(override);
      return watched(() => replace("setOverride", whose, next, read));
    },

    async unsetOverride(of, options = {}, more?: unknown) {
      rejectMore("unsetOverride(of, options)", more);
      const read = readActionOptions("unsetOverride", options);
      rejectUnknownOptions("unsetOverride", of, ["limiter", "subject"]);
      const whose = readPlace(of);
      return watched(() => replace("unsetOverride", whose, undefined, read));
    },

    async addToDenyList(text, options = {}, more?: unknown) {
      rejectMore("addToDenyList(network, options)", more);
      const read = readActionOptions("addToDenyList", options, ["for"]);
      const { reason } = read;
      requireShortReason(reason);
      const network = readDenied(text);
      const duration = readFor(options.for);
      const span = {
        from: -IN_FORCE_AFTER,
        until: duration === undefined ? null : -duration,
      };
      const makeNext = (by: string | undefined): DeniedNetwork => ({
        network,
        reason,
        by,
        ...span,
      });
      return watched(() => replaceDenied("addToDenyList", network, makeNext, read));
    },

    async removeFromDenyList(text, options = {}, more?: unknown) {
      rejectMore("removeFromDenyList(network, options)", more);
      const read = readActionOptions("removeFromDenyList", options);
      const network = readDenied(text);
      return watched(() => replaceDenied("removeFromDenyList", network, () => undefined, read));
    },

    async denyList(address, more?: unknown) {
      rejectMore("denyList(address)", more);
      const { record, now } = await watched(() => control.read());
      return entriesInForce(record.denied ?? [], now, address);
    },

    async logBreaker(done, options = {}, more?: unknown) {
      rejectMore("logBreaker(done, options)", more);
      rejectUnknownOptions("logBreaker", options, ["reason", "by"]);
      const read = readActionOptions("logBreaker", options);
      const { breaker, target, before, after } = readBreakerAction(done);
      return watched(async () => {
        const names = await namesOf(read);
        const subject = { target };
        const entry: EntryText = {
          kind: "breaker",
          limiter: breaker,
          subject,
          ...names,
          before,
          after,
        };
        const at = await control.change(({ record, now }) => ({
          draft: withNothing(record, now),
          entry,
        }));
        return new Date(Math.floor(at / 1_000));
      });
    },

    async readControl(): Promise<ControlRecord> {
      const { record, now } = await watched(() => control.read());
      const overrides = record.overrides.filter(({ until }) => until === null || until > now);
      return { ...record, overrides };
    },

    log: () => watched(() => control.log()),
  };
}

/** Throws `HEADGATE_INVALID_OPTION`. */
function placeOf(store: Store, storeTimeout: Duration): OperatedStore {
  requireStore(store);
  const { remote } = store;
  if (remote?.isControlled !== true) {
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `operate takes a store made by redisStore, whose counters all processes share; got ${formatKind(store)} made by something else`,
    );
  }
  const times = readFailureOptions({ storeTimeout });
  return {
    store,
    remote,
    get watch() {
      return watchStore(store.owner, remote, times);
    },
  };
}

function requireRoom(draft: Draft): void {
  requireRoomForOrders(draft);
  if (draft.overrides.length <= MAX_OVERRIDES) return;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `there are already ${MAX_OVERRIDES} overrides, which is the most: remove some; what many subjects have, such as plans, belongs in limits`,
  );
}

function requireRoomToDeny(draft: Draft): void {
  requireRoomForOrders(draft);
  if ((draft.denied ?? []).length <= MAX_DENIED) return;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `there are already ${MAX_DENIED} entries on the deny list, which is the most: remove some, or add the network that has them`,
  );
}

function inForceAfter(at: number): Date {
  return new Date(Math.ceil((at + IN_FORCE_AFTER) / 1_000));
}

/** An override, or an entry of the deny list, as the server wrote it at a time. */
function madeAt<Made extends Pick<Override, "from" | "until">>(made: Made, at: number): Made {
  const { from, until } = made;
  return { ...made, from: at - from, until: until === null ? null : at - until };
}

/** Equal for the same limiter and subject. */
function formatPlace({ limiter, subject }: OverridePlace): string {
  return JSON.stringify([limiter, subject === undefined ? null : Object.entries(subject).sort()]);
}
