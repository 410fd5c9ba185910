import { readPolicy } from "../algorithms/read-policy.ts";
import { askStore } from "../limiter/ask-store.ts";
import type { CountedPolicy } from "../limiter/counted-policy.ts";
import { compileCountedPolicy } from "../limiter/counted-policy.ts";
import type { SubjectCounter, Subjects } from "../limiter/counters.ts";
import { namedCountersOf } from "../limiter/counters.ts";
import type { Decider } from "../limiter/decider.ts";
import { requireName } from "../limiter/names.ts";
import { readFailureOptions } from "../limiter/outage/failure-options.ts";
import type { FailurePolicy, StoreWatch } from "../limiter/outage/outage.ts";
import { readBlockOn } from "../limiter/read-block-on.ts";
import { createRemoteDecider } from "../limiter/remote-decider.ts";
import { rejectUnknownOptions } from "../options.ts";
import type { Remote, Store } from "../store/store.ts";
import { requireShortSubject } from "./action-options.ts";
import type { Inspection, OperatedLimiter } from "./operator.ts";

/** Where counters are, and how they are asked. */
export interface OperatedStore {
  readonly store: Store;
  readonly remote: Remote;
  /** Of the client, while anybody uses it. */
  readonly watch: StoreWatch;
}

/** The counters of a subject of a limiter, which need not exist in this process. */
export class OperatedCounters {
  readonly limiter: string;
  /** By dimension, as named. */
  readonly subject: Readonly<Record<string, string>>;
  readonly #place: OperatedStore;
  readonly #counted: CountedPolicy;
  readonly #counters: readonly SubjectCounter[];
  readonly #failure: FailurePolicy;

  /** Throws `HEADGATE_INVALID_OPTION`, `HEADGATE_INVALID_LIMIT`, `HEADGATE_EMPTY_KEY`, `HEADGATE_INVALID_KEY`. */
  constructor(place: OperatedStore, limiter: OperatedLimiter, subject: Subjects) {
    rejectUnknownOptions("a limiter to operate on", limiter, ["name", "limits", "blockOn"]);
    const { name, limits, blockOn } = limiter;
    requireName(name);
    this.limiter = name;
    this.#place = place;
    this.#counted = compileCountedPolicy(name, readPolicy(limits), place.store, {
      blockOn: readBlockOn(blockOn),
    });
    this.#counters = namedCountersOf(this.#counted, subject);
    const named = this.#counters.map((counter) => [counter.group.dimension, counter.subject]);
    this.subject = Object.fromEntries(named);
    requireShortSubject(this.subject);
    this.#failure = readFailureOptions({ storeTimeout: place.watch.timeoutMs, denyCache: false });
  }

  /** The limits as they are. Rejects with what the store says. */
  async look(): Promise<Inspection> {
    const asked = { ...this.#place, counted: this.#counted, giveBack: async () => {} };
    const { limits, blocked } = await askStore(asked, this.#counters, 0, "peek");
    return { limits, blocked };
  }

  /** Does what a limiter would. */
  async act(
    work: (decider: Decider, counters: readonly SubjectCounter[]) => Promise<unknown>,
  ): Promise<void> {
    const { remote } = this.#place;
    const decider = createRemoteDecider(this.limiter, this.#counted, remote, this.#failure);
    try {
      await work(decider, this.#counters);
    } finally {
      await decider.close();
    }
  }
}
