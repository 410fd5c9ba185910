import { formatKind, formatNumber, invalidOption } from "../common/errors.ts";
import { readBoolean, rejectExtraArgument, rejectUnknownOptions } from "../common/options.ts";
import type { Duration } from "../common/time.ts";
import { parseDuration } from "../common/time.ts";
import { ControlStore } from "../control/control-store.ts";
import type { ControlRecord, Override } from "../control/record.ts";
import { isActive, toDate } from "../control/record.ts";
import { monitorStore } from "../health/store-monitor.ts";
import { readFailureOptions } from "../limiter/failure-options.ts";
import { blockCounters, forgetCounters } from "../pipeline/mutations.ts";
import type { Stage } from "../pipeline/stage.ts";
import type { SubjectCounter, Subjects } from "../policy/counters.ts";
import { unitCountersOf } from "../policy/counters.ts";
import type { Store } from "../store/store.ts";
import { requireStore } from "../store/store.ts";
import {
  activeEntries,
  readActionOptions,
  readBreakerAction,
  readDuration,
  readNetworkOption,
  readOverride,
  readOverrideKey,
  requireShortReason,
} from "./action-options.ts";
import { Actions } from "./actions.ts";
import type {
  ActionResult,
  Admin,
  Inspection,
  LimiterDefinition,
  SubjectActionOptions,
} from "./admin.ts";
import type { AdminStore, CounterChange } from "./admin-counters.ts";
import { AdminCounters } from "./admin-counters.ts";

/** Options of `createAdmin`. */
export interface AdminOptions {
  /** The longest wait for each call to the store: 1 ms to 1 minute. Default 5 seconds. */
  readonly storeTimeout?: Duration | undefined;
}

/**
 * Creates an admin for the limiters that count in Redis under the prefix of a store. Each action takes effect in all processes, and
 * is written to the log. Throws `HEADGATE_INVALID_OPTION`.
 */
export function createAdmin(store: Store, options: AdminOptions = {}): Admin {
  rejectUnknownOptions("createAdmin", options, ["storeTimeout"]);
  const adminStore = adminStoreOf(store, options.storeTimeout ?? "5s");
  const control = new ControlStore(adminStore);
  const actions = new Actions(adminStore, control);

  /** Watches the store for this call only: asks it even if it was down before. */
  async function monitored<T>(work: () => Promise<T>): Promise<T> {
    const release = adminStore.monitor.use();
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Acts on the counters of a subject. The options are read before `readWork` reads what else was given. */
  function actOnSubject(
    kind: "reset" | "block" | "unblock",
    limiter: LimiterDefinition,
    subject: Subjects,
    options: SubjectActionOptions = {},
    readWork: () => CounterChange,
  ): Promise<ActionResult<Inspection>> {
    const read = readActionOptions(kind, options, ["ignoreUnknownDimensions"]);
    const ignoreUnknownDimensions = readBoolean(
      "ignoreUnknownDimensions",
      options.ignoreUnknownDimensions,
    );
    const work = readWork();
    const counters = new AdminCounters(adminStore, limiter, subject, ignoreUnknownDimensions);
    return monitored(() => actions.changeCounters(kind, counters, read, work));
  }

  return {
    async inspect(limiter, subject) {
      const counters = new AdminCounters(adminStore, limiter, subject);
      return monitored(() => counters.inspect());
    },

    async peek(limiter, subject, options = {}, more?: unknown) {
      rejectExtraArgument("peek(limiter, subject, options)", more);
      rejectUnknownOptions("peek", options, ["cost"]);
      const counters = new AdminCounters(adminStore, limiter, subject);
      return monitored(async () => counters.peek(options.cost ?? 1, await control.read()));
    },

    async reset(limiter, subject, options, more?: unknown) {
      rejectExtraArgument("reset(limiter, subject, options)", more);
      return actOnSubject("reset", limiter, subject, options, () => forgetUnits);
    },

    async block(limiter, subject, duration, options, more?: unknown) {
      rejectExtraArgument("block(limiter, subject, duration, options)", more);
      return actOnSubject("block", limiter, subject, options, () =>
        blockFor(parseDuration(duration, "duration", "HEADGATE_INVALID_OPTION", formatNumber)),
      );
    },

    async unblock(limiter, subject, options, more?: unknown) {
      rejectExtraArgument("unblock(limiter, subject, options)", more);
      return actOnSubject("unblock", limiter, subject, options, () => blockFor(0));
    },

    async forget(limiter, subject, options = {}, more?: unknown) {
      rejectExtraArgument("forget(limiter, subject, options)", more);
      const read = readActionOptions("forget", options);
      const counters = new AdminCounters(adminStore, limiter, subject);
      return monitored(() =>
        actions.forget(counters, read, async (stage, all) => {
          // A reset leaves blocks set by hand.
          await blockCounters(stage, all, 0);
          await forgetUnits(stage, all);
        }),
      );
    },

    async setOverride(override, options = {}, more?: unknown) {
      rejectExtraArgument("setOverride(override, options)", more);
      const read = readActionOptions("setOverride", options, ["for"]);
      const span = readDuration(options.for);
      const next = readOverride(override);
      return monitored(() =>
        actions.replaceOverride("setOverride", readOverrideKey(override), read, { next, span }),
      );
    },

    async unsetOverride(of, options = {}, more?: unknown) {
      rejectExtraArgument("unsetOverride(of, options)", more);
      const read = readActionOptions("unsetOverride", options);
      rejectUnknownOptions("unsetOverride", of, ["limiter", "subject"]);
      const whose = readOverrideKey(of);
      return monitored(() => actions.replaceOverride("unsetOverride", whose, read, undefined));
    },

    async addToDenyList(text, options = {}, more?: unknown) {
      rejectExtraArgument("addToDenyList(network, options)", more);
      const read = readActionOptions("addToDenyList", options, ["for"]);
      requireShortReason(read.reason);
      const network = readNetworkOption(text);
      const span = readDuration(options.for);
      return monitored(() => actions.replaceDenied("addToDenyList", network, read, { span }));
    },

    async removeFromDenyList(text, options = {}, more?: unknown) {
      rejectExtraArgument("removeFromDenyList(network, options)", more);
      const read = readActionOptions("removeFromDenyList", options);
      const network = readNetworkOption(text);
      return monitored(() => actions.replaceDenied("removeFromDenyList", network, read, undefined));
    },

    async denyList(address, more?: unknown) {
      rejectExtraArgument("denyList(address)", more);
      const { record, now } = await monitored(() => control.read());
      return activeEntries(record.denyList ?? [], now, address);
    },

    async logBreakerAction(action, options = {}, more?: unknown) {
      rejectExtraArgument("logBreakerAction(action, options)", more);
      const read = readActionOptions("logBreakerAction", options);
      const { breaker: limiter, target, before, after } = readBreakerAction(action);
      if (read.dryRun) {
        const { now } = await monitored(() => control.read());
        return toDate(now);
      }
      const entry = { kind: "breaker", limiter, subject: { target }, before, after } as const;
      return toDate(await monitored(() => actions.log(entry, read)));
    },

    async readControl(): Promise<ControlRecord> {
      const { record, now } = await monitored(() => control.read());
      const inForce = (one: Pick<Override, "until">): boolean => isActive(one, now);
      const { overrides, denyList } = record;
      return {
        ...record,
        overrides: overrides.filter(inForce),
        denyList: denyList?.filter(inForce),
      };
    },

    log: () => monitored(() => control.log()),
  };
}

function blockFor(span: number): CounterChange {
  return (stage, all) => blockCounters(stage, all, span);
}

async function forgetUnits(stage: Stage, all: readonly SubjectCounter[]): Promise<void> {
  const units = unitCountersOf(all);
  if (units.length > 0) await forgetCounters(stage, units);
}

/** Throws `HEADGATE_INVALID_OPTION`. */
export function adminStoreOf(given: Store, storeTimeout: Duration): AdminStore {
  const store = requireStore(given);
  const { transport } = store;
  if (transport?.followsControl !== true) {
    throw invalidOption(
      `createAdmin takes a store made by redisStore, whose counters all processes share; got ${formatKind(store)} made by something else`,
    );
  }
  const times = readFailureOptions({ storeTimeout });
  return {
    store,
    transport,
    get monitor() {
      return monitorStore(store.owner, transport, times);
    },
  };
}
