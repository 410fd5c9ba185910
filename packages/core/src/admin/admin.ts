import { formatKind, formatNumber, invalidOption } from "../common/errors.ts";
import { readBoolean, rejectMore, rejectUnknownOptions } from "../common/options.ts";
import type { Duration } from "../common/time.ts";
import { parseDuration } from "../common/time.ts";
import { ControlStore } from "../control/control-store.ts";
import type { ControlRecord, Override } from "../control/record.ts";
import { lasts, toDate } from "../control/record.ts";
import { watchStore } from "../health/store-monitor.ts";
import { readFailureOptions } from "../limiter/failure-options.ts";
import { blockCounters, forgetCounters } from "../pipeline/mutations.ts";
import type { Stage } from "../pipeline/stage.ts";
import type { SubjectCounter, Subjects } from "../policy/counters.ts";
import { unitCountersOf } from "../policy/counters.ts";
import type { Store } from "../store/store.ts";
import { requireStore } from "../store/store.ts";
import { readActionOptions, readBreakerAction } from "./action-options.ts";
import { Actions } from "./actions.ts";
import type { OperatedStore, Work } from "./admin-counters.ts";
import { AdminCounters } from "./admin-counters.ts";
import { entriesInForce, readDenied, requireShortReason } from "./deny-list.ts";
import type {
  Action,
  Inspection,
  OperatedLimiter,
  Operator,
  SubjectActionOptions,
} from "./operator.ts";
import { readFor, readKey, readOverride } from "./override-options.ts";

/** Options of `operate`. */
export interface OperateOptions {
  /** The longest wait for each call to the store: 1 ms to 1 minute. Default 5 seconds. */
  readonly storeTimeout?: Duration | undefined;
}

/**
 * Creates an operator for the limiters that count in Redis under the prefix of a store. Each action takes effect in all processes, and
 * is written to the log. Throws `HEADGATE_INVALID_OPTION`.
 */
export function operate(store: Store, options: OperateOptions = {}): Operator {
  rejectUnknownOptions("operate", options, ["storeTimeout"]);
  const place = placeOf(store, options.storeTimeout ?? "5s");
  const control = new ControlStore(place);
  const actions = new Actions(place, control);

  /** Watches the store for this call only: asks it even if it was down before. */
  async function watched<T>(work: () => Promise<T>): Promise<T> {
    const release = place.watch.use();
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Acts on the counters of a subject. The options are read before `readWork` reads what else was given. */
  function act(
    kind: "reset" | "block" | "unblock",
    limiter: OperatedLimiter,
    subject: Subjects,
    options: SubjectActionOptions = {},
    readWork: () => Work,
  ): Promise<Action<Inspection>> {
    const read = readActionOptions(kind, options, ["partial"]);
    const partial = readBoolean("partial", options.partial);
    const work = readWork();
    const counters = new AdminCounters(place, limiter, subject, partial);
    return watched(() => actions.act(kind, counters, read, work));
  }

  return {
    async inspect(limiter, subject) {
      const counters = new AdminCounters(place, limiter, subject);
      return watched(() => counters.look());
    },

    async peek(limiter, subject, options = {}, more?: unknown) {
      rejectMore("peek(limiter, subject, options)", more);
      rejectUnknownOptions("peek", options, ["cost"]);
      const counters = new AdminCounters(place, limiter, subject);
      return watched(async () => counters.peek(options.cost ?? 1, await control.read()));
    },

    async reset(limiter, subject, options, more?: unknown) {
      rejectMore("reset(limiter, subject, options)", more);
      return act("reset", limiter, subject, options, () => forgetUnits);
    },

    async block(limiter, subject, duration, options, more?: unknown) {
      rejectMore("block(limiter, subject, duration, options)", more);
      return act("block", limiter, subject, options, () =>
        blockFor(parseDuration(duration, "duration", "HEADGATE_INVALID_OPTION", formatNumber)),
      );
    },

    async unblock(limiter, subject, options, more?: unknown) {
      rejectMore("unblock(limiter, subject, options)", more);
      return act("unblock", limiter, subject, options, () => blockFor(0));
    },

    async forget(limiter, subject, options = {}, more?: unknown) {
      rejectMore("forget(limiter, subject, options)", more);
      const read = readActionOptions("forget", options);
      const counters = new AdminCounters(place, limiter, subject);
      return watched(() =>
        actions.forget(counters, read, async (stage, all) => {
          // A reset leaves blocks set by hand.
          await blockCounters(stage, all, 0);
          await forgetUnits(stage, all);
        }),
      );
    },

    async setOverride(override, options = {}, more?: unknown) {
      rejectMore("setOverride(override, options)", more);
      const read = readActionOptions("setOverride", options, ["for"]);
      const span = readFor(options.for);
      const next = readOverride(override);
      return watched(() =>
        actions.replaceOverride("setOverride", readKey(override), read, { next, span }),
      );
    },

    async unsetOverride(of, options = {}, more?: unknown) {
      rejectMore("unsetOverride(of, options)", more);
      const read = readActionOptions("unsetOverride", options);
      rejectUnknownOptions("unsetOverride", of, ["limiter", "subject"]);
      const whose = readKey(of);
      return watched(() => actions.replaceOverride("unsetOverride", whose, read, undefined));
    },

    async addToDenyList(text, options = {}, more?: unknown) {
      rejectMore("addToDenyList(network, options)", more);
      const read = readActionOptions("addToDenyList", options, ["for"]);
      requireShortReason(read.reason);
      const network = readDenied(text);
      const span = readFor(options.for);
      return watched(() => actions.replaceDenied("addToDenyList", network, read, { span }));
    },

    async removeFromDenyList(text, options = {}, more?: unknown) {
      rejectMore("removeFromDenyList(network, options)", more);
      const read = readActionOptions("removeFromDenyList", options);
      const network = readDenied(text);
      return watched(() => actions.replaceDenied("removeFromDenyList", network, read, undefined));
    },

    async denyList(address, more?: unknown) {
      rejectMore("denyList(address)", more);
      const { record, now } = await watched(() => control.read());
      return entriesInForce(record.denied ?? [], now, address);
    },

    async logBreaker(done, options = {}, more?: unknown) {
      rejectMore("logBreaker(done, options)", more);
      const read = readActionOptions("logBreaker", options);
      const { breaker: limiter, target, before, after } = readBreakerAction(done);
      if (read.dryRun) {
        const { now } = await watched(() => control.read());
        return toDate(now);
      }
      const entry = { kind: "breaker", limiter, subject: { target }, before, after } as const;
      return toDate(await watched(() => actions.log(entry, read)));
    },

    async readControl(): Promise<ControlRecord> {
      const { record, now } = await watched(() => control.read());
      const inForce = (one: Pick<Override, "until">): boolean => lasts(one, now);
      const { overrides, denied } = record;
      return { ...record, overrides: overrides.filter(inForce), denied: denied?.filter(inForce) };
    },

    log: () => watched(() => control.log()),
  };
}

function blockFor(span: number): Work {
  return (stage, all) => blockCounters(stage, all, span);
}

async function forgetUnits(stage: Stage, all: readonly SubjectCounter[]): Promise<void> {
  const units = unitCountersOf(all);
  if (units.length > 0) await forgetCounters(stage, units);
}

/** Throws `HEADGATE_INVALID_OPTION`. */
export function placeOf(given: Store, storeTimeout: Duration): OperatedStore {
  const store = requireStore(given);
  const { remote } = store;
  if (remote?.isControlled !== true) {
    throw invalidOption(
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
