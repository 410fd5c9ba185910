import type { Store } from "@headgate/core";
import type { CountingStore, ScriptTransport } from "@headgate/core/internal";
import { requireStore } from "@headgate/core/internal";
import { shareByPrefix } from "../../packages/core/src/common/client-state.ts";
import type { Control, Follower } from "../../packages/core/src/control/control.ts";
import type { ControlRecord, Override } from "../../packages/core/src/control/record.ts";
import { NO_RECORD } from "../../packages/core/src/control/record.ts";
import { redisBackend } from "../../packages/core/src/limiter/redis-limiter.ts";
import { sendBy } from "./send-by.ts";

/** An override without what is the same in all: for whom, of what, and until when in microseconds. */
type Terms = Pick<Override, "subject" | "limits" | "shadow"> & {
  readonly limiter?: string;
  readonly until?: number | null;
};

/** A store whose operator is the test. */
export interface OverriddenStore {
  readonly store: CountingStore;
  /** Puts overrides in force, in place of those before, for the limiter `api` unless they name another one. */
  override(...terms: readonly Terms[]): void;
  /** Puts a deny list in force, in place of the one before: networks, each with the microseconds in which it ends. */
  deny(...entries: ReadonlyArray<readonly [network: string, until: number | null]>): void;
  /** From now on what is known is too old; it is asked for, and the answer comes when `answer` is called. */
  age(): void;
  answer(): void;
}

/** The one server of a store that is in this process. */
const HERE: Omit<ScriptTransport, "send"> = {
  hashSlotOf: () => 0,
  isCrossSlotError: () => false,
  nodeOf: () => "",
  refreshTopology() {},
  lastError: () => undefined,
};

/** Overrides on a store, whose clock is the server's. Limiters on it take it for one of a server. */
export function overridden(given: Store): OverriddenStore {
  const store = requireStore(given);
  let record: ControlRecord = NO_RECORD;
  let known = record;
  let pending: Promise<void> | undefined;
  let resolve = () => {};
  const followers = new Set<Follower>();
  const control: Control = {
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
      const whole = { limiter: "api", from: store.now(), until: null };
      const overrides = terms.map((one) => ({ ...whole, ...one }));
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
