import { readPolicy } from "../algorithms/read-policy.ts";
import type { Decision } from "../base/decision.ts";
import { formatReceived, HeadgateError } from "../base/errors.ts";
import { rejectUnknownOptions } from "../base/options.ts";
import { toMilliseconds } from "../base/time.ts";
import { askedUnits, requireCost } from "../counting/costs.ts";
import { CountedDecision, withNamed } from "../counting/counted-decision.ts";
import type { CountedPolicy } from "../counting/counted-policy.ts";
import { compileCountedPolicy } from "../counting/counted-policy.ts";
import type { SubjectCounter, Subjects } from "../counting/counters.ts";
import { namedCountersOf } from "../counting/counters.ts";
import { requireName } from "../counting/names.ts";
import { rejectWrongType } from "../counting/wrong-type.ts";
import { makeAsk, present, readReply } from "../deciding/ask.ts";
import { rememberDenials } from "../deciding/denials.ts";
import { decideWithoutStore } from "../deciding/fallback.ts";
import { Flights } from "../deciding/flights.ts";
import type { Answer, Link } from "../deciding/link.ts";
import { decideLocally } from "../deciding/local.ts";
import { askServers, decideOnServers, slotPlaceOf } from "../deciding/server.ts";
import type { ReadControl } from "../fleet/control/drafts.ts";
import { createOverrides } from "../fleet/control/limiter-overrides.ts";
import { readFailureOptions } from "../limiter/failure-options.ts";
import type { FailurePolicy } from "../limiter/failure-policy.ts";
import { readBlockOn } from "../limiter/read-block-on.ts";
import type { StoreWatch } from "../reach/outage.ts";
import { stepFor } from "../store/decide.ts";
import type { DecideCall } from "../store/decide-call.ts";
import { copyTo, lookBlock } from "../store/look-one.ts";
import { MemoryTable } from "../store/memory-table.ts";
import type { Remote, Step, Store } from "../store/store.ts";
import { requireShortSubject } from "./action-options.ts";
import type { Inspection, OperatedLimiter, SubjectBlock } from "./operator.ts";

/** Where counters are, and how they are asked. */
export interface OperatedStore {
  readonly store: Store;
  readonly remote: Remote;
  /** Of the client, while anybody uses it. */
  readonly watch: StoreWatch;
}

/** What a limiter would do to counters. */
export type Work = (link: Link, counters: readonly SubjectCounter[]) => Promise<unknown>;

interface Changed {
  readonly before: Inspection;
  readonly after: Inspection;
}

/** Runs a step where the counters are, on the key's server. */
type Run = (step: Step<DecideCall>, call: DecideCall, key: string) => Promise<readonly number[]>;

/** A limiter has at most 100 limits, and a subject no more counters. */
const COPIES = 1_000;

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
    rejectUnknownOptions("a limiter to operate on", limiter, [
      "name",
      "limits",
      "blockOn",
      "shadow",
    ]);
    const { name, limits, blockOn, shadow } = limiter;
    requireName(name);
    this.limiter = name;
    this.#place = place;
    this.#counted = compileCountedPolicy(name, readPolicy(limits), place.store, {
      blockOn: readBlockOn(blockOn),
      shadow: readShadow(shadow),
    });
    this.#counters = namedCountersOf(this.#counted, subject);
    const named = this.#counters.map((counter) => [counter.group.dimension, counter.subject]);
    this.subject = Object.fromEntries(named);
    requireShortSubject(this.subject);
    this.#failure = readFailureOptions({ storeTimeout: place.watch.timeoutMs, denyCache: false });
  }

  /** The limits as they are. Rejects with what the store says. */
  async look(): Promise<Inspection> {
    const { limits, blocked } = await this.#ask(this.#counters, 0);
    const { store, watch } = this.#place;
    const blocks = blocked ? await this.#lookBlocks((...call) => watch.run(store, ...call)) : [];
    return { limits, blocked, blocks };
  }

  /** Does work, or with `isDry` does it on copies; resolves with the limits before and after. Rejects with what the store says. */
  async change(work: Work, isDry: boolean): Promise<Changed> {
    if (isDry) return this.#preview(work);
    const before = await this.look();
    await this.#withChain((chain) => work(chain, this.#counters));
    return { before, after: await this.look() };
  }

  /**
   * What work would change: it is done on copies of the counters in this process's memory, by the twins of the scripts that would do
   * it. Rejects with what the store says.
   */
  async #preview(work: Work): Promise<Changed> {
    const { store, watch } = this.#place;
    const copies = new MemoryTable(COPIES);
    let now = 0;
    for (const counter of this.#counters) {
      const call = { cost: 0, mode: "peek", counters: [counter] } as const;
      const reply = await watch.run(store, copyTo(copies), call, counter.key);
      rejectWrongType(reply, [counter]);
      now = Math.max(now, reply[0] as number);
    }
    const runNow: Store["runNow"] = (step, call) => step.twin(call, copies, { now, generation: 1 });
    const run = async <Call>(step: Step<Call>, call: Call) => runNow(step, call);
    const copied: Store = { owner: copies, prefix: store.prefix, now: () => now, run, runNow };
    const look = async (): Promise<Inspection> => {
      const counters = this.#counters;
      const reply = runNow(stepFor("peek"), { cost: 0, mode: "peek", counters });
      const { blocked, states } = readReply(this.#counted, counters, 0, reply);
      return { limits: present(states), blocked, blocks: await this.#lookBlocks(run) };
    };
    const before = await look();
    await work(decideLocally({ ...this.#counted, store: copied }), this.#counters);
    return { before, after: await look() };
  }

  /**
   * The answer to a request at a moment, nothing charged, under the overrides of a record that was read then. Rejects with
   * `HEADGATE_INVALID_COST`, and with what the store says.
   */
  async peek(cost: unknown, { record, now }: ReadControl): Promise<Decision> {
    const given = requireCost("cost", cost, this.#counted.limits);
    const known = { record, due: Number.POSITIVE_INFINITY, now: () => now };
    const control = { known, refresh: () => undefined, onRecord() {}, onOrder() {}, stop() {} };
    return this.#withChain(async ({ endLeases }) => {
      const { watch } = this.#place;
      const overrides = createOverrides(control, this.#counted, { watch, endLeases });
      const inForce = overrides.apply(this.#counters);
      const { counters, cost: most } = askedUnits(inForce, given);
      const { allowed, blocked, limits } = await this.#ask(counters, most);
      const outcome = {
        allowed,
        blocked,
        limits,
        cost: most,
        source: "store",
        receipts: [],
        terms: counters[0]?.terms,
      } as const;
      const isNamed = typeof given !== "number" && most > 0;
      return new CountedDecision(this.#counted, isNamed ? withNamed(counters, outcome) : outcome);
    });
  }

  #ask(counters: readonly SubjectCounter[], cost: number): Promise<Answer> {
    const place = slotPlaceOf({ ...this.#place, counted: this.#counted });
    return askServers(place, makeAsk(counters, cost, "peek"));
  }

  async #lookBlocks(run: Run): Promise<readonly SubjectBlock[]> {
    const found = await Promise.all(this.#counters.map((counter) => lookAtBlock(counter, run)));
    const blocks = new Map<string, SubjectBlock>();
    for (const block of found) {
      if (block === undefined) continue;
      // A block by hand is of each counter of a dimension.
      const id = JSON.stringify([block.per, block.limit]);
      const known = blocks.get(id);
      if (known === undefined || known.endsInMs < block.endsInMs) blocks.set(id, block);
    }
    return [...blocks.values()];
  }

  async #withChain<T>(work: (chain: Link) => Promise<T>): Promise<T> {
    const counted = this.#counted;
    const fallback = decideWithoutStore(counted, this.#failure);
    const server = decideOnServers({ ...this.#place, counted }, fallback, new Flights());
    return work(rememberDenials(server, counted, false));
  }
}

async function lookAtBlock(counter: SubjectCounter, run: Run): Promise<SubjectBlock | undefined> {
  const call = { cost: 0, mode: "peek", counters: [counter] } as const;
  const reply = await run(lookBlock, call, counter.key);
  rejectWrongType(reply, [counter]);
  const [, rest = 0, setBy = 0] = reply;
  if (rest === 0) return undefined;
  const endsInMs = toMilliseconds(rest);
  const { dimension: per } = counter.group;
  return setBy === 0
    ? { per, endsInMs }
    : { per, limit: counter.limits[setBy - 1]?.name, endsInMs };
}

/** Throws `HEADGATE_INVALID_OPTION`. */
function readShadow(shadow: unknown = false): boolean {
  if (typeof shadow === "boolean") return shadow;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `shadow must be true or false, got ${formatReceived(shadow)}`,
  );
}
