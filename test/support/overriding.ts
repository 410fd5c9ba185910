import type { Store } from "@headgate/core";
import type { CountingStore, ScriptTransport } from "@headgate/core/internal";
import { requireStore } from "@headgate/core/internal";
import { shareByPrefix } from "../../packages/core/src/common/client-state.ts";
import type {
  ControlCache,
  RecordListener,
} from "../../packages/core/src/control/control-cache.ts";
import type { ControlRecord, Override } from "../../packages/core/src/control/record.ts";
import { NO_RECORD } from "../../packages/core/src/control/record.ts";
import { redisBackend } from "../../packages/core/src/limiter/redis-limiter.ts";
import { sendBy } from "./send-by.ts";

/** The part of an override that tests vary. `until` is in microseconds. */
type OverrideTerms = Pick<Override, "subject" | "limits" | "shadow"> & {
  readonly limiter?: string;
  readonly until?: number | null;
};

/** A store whose overrides and deny list the test sets. */
export interface OverriddenStore {
  readonly store: CountingStore;
  /** Replaces the overrides. They apply to the limiter `api` unless they name another one. */
  override(...terms: readonly OverrideTerms[]): void;
  /** Replaces the deny list: networks, each with its end in microseconds. */
  deny(...entries: ReadonlyArray<readonly [network: string, until: number | null]>): void;
  /** Makes the known record stale. Limiters wait for a refresh, which `answer` completes. */
  age(): void;
  answer(): void;
}

/** The transport of a store in this process, which has one server. */
const HERE: Omit<ScriptTransport, "send"> = {
  hashSlotOf: () => 0,
  isCrossSlotError: () => false,
  nodeOf: () => "",
  refreshTopology() {},
  lastError: () => undefined,
};

/** Wraps a store so that limiters treat it as a server's and follow its overrides. The clock is that of the store. */
export function overridden(given: Store): OverriddenStore {
  const store = requireStore(given);
  let record: ControlRecord = NO_RECORD;
  let known = record;
  let pending: Promise<void> | undefined;
  let resolve = () => {};
  const followers = new Set<RecordListener>();
  const control: Pick<ControlCache, keyof ControlCache> = {
    get record() {
      return known;
    },
    refreshDueAt: Number.NEGATIVE_INFINITY,
    now: () => store.now(),
    refresh: () => pending,
    follow(follower) {
      followers.add(follower);
      return () => followers.delete(follower);
    },
  };
  shareByPrefix("control", () => control)(store);

  function answer(): void {
    known = record;
    for (const follower of followers)
      follower.onUpdate({ record, invalidations: [], invalidatesAll: false });
    pending = undefined;
    resolve();
  }

  return {
    store: {
      ...store,
      backend: redisBackend,
      transport: { ...HERE, send: sendBy(store.run), ...store.transport, followsControl: true },
    },
    deny(...entries) {
      const denyList = entries.map(([network, until]) => ({ network, from: store.now(), until }));
      const { denyList: _, ...rest } = record;
      record = {
        ...rest,
        version: record.version + 1,
        ...(denyList.length === 0 ? {} : { denyList }),
      };
      if (pending === undefined) answer();
    },
    override(...terms) {
      const defaults = { limiter: "api", from: store.now(), until: null };
      const overrides = terms.map((one) => ({ ...defaults, ...one }));
      record = { ...record, version: record.version + 1, overrides };
      if (pending === undefined) answer();
    },
    age() {
      pending = new Promise((settle) => {
        resolve = settle;
      });
    },
    answer,
  };
}
