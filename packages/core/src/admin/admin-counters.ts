import { readPolicy } from "../algorithms/compile-policy.ts";
import type { Decision, LimitState } from "../common/decision.ts";
import { formatKind, invalidValue } from "../common/errors.ts";
import { readBoolean, rejectUnknownOptions } from "../common/options.ts";
import type { Policy } from "../common/policy.ts";
import { readBlockOn } from "../common/policy.ts";
import { toMilliseconds } from "../common/time.ts";
import type { ControlSnapshot } from "../control/control-store.ts";
import { createCompatibilityCheck, overridesIn } from "../control/limiter-overrides.ts";
import type { StoreMonitor } from "../health/store-monitor.ts";
import type { FailurePolicy } from "../limiter/failure-options.ts";
import { readFailureOptions } from "../limiter/failure-options.ts";
import { peek } from "../operations/decide.ts";
import type { DecideCall } from "../operations/decide-call.ts";
import type { BlockReport } from "../operations/peek-one.ts";
import { copyCounterTo, peekBlock } from "../operations/peek-one.ts";
import { decideByHashSlot } from "../pipeline/cross-slot.ts";
import { createDecisionRequest, toDecision } from "../pipeline/decision-request.ts";
import { createFallbackStage } from "../pipeline/fallback-stage.ts";
import { InFlight } from "../pipeline/in-flight.ts";
import { createMemoryStage } from "../pipeline/memory-stage.ts";
import { createRedisStage } from "../pipeline/redis-stage.ts";
import type { Stage } from "../pipeline/stage.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import { compileLimiterPolicy } from "../policy/compiled-policy.ts";
import { assignCosts, requireCost } from "../policy/costs.ts";
import type { SubjectCounter, Subjects } from "../policy/counters.ts";
import { countersOfGivenSubjects } from "../policy/counters.ts";
import { requireName } from "../policy/names.ts";
import type { PolicyCounters } from "../policy/per-call-policy.ts";
import { countersOfOtherPolicies } from "../policy/per-call-policy.ts";
import { MemoryTable } from "../store/memory-table.ts";
import type { CountingStore, Operation, ScriptTransport } from "../store/store.ts";
import { brandStore } from "../store/store.ts";
import { requireShortSubject } from "./action-options.ts";
import type { Inspection, LimiterDefinition, SubjectBlock } from "./admin.ts";

/** The store of the counters, and its connection. */
export interface AdminStore {
  readonly store: CountingStore;
  readonly transport: ScriptTransport;
  /** The monitor of the client while the client is in use. */
  readonly monitor: StoreMonitor;
}

/** Runs an operation on the server of the key. */
type RunOperation = (
  operation: Operation<DecideCall, BlockReport>,
  call: DecideCall,
  key: string,
) => Promise<BlockReport>;

/** An operation of a limiter on counters. */
export type CounterChange = (stage: Stage, counters: readonly SubjectCounter[]) => Promise<unknown>;

interface ChangeResult {
  readonly before: Inspection;
  readonly after: Inspection;
}

/** The room for copies: a policy has at most 100 limits, and a subject no more counters than that. */
const MAX_COPIES = 10_000;

/** The counters of a limiter's subject. The limiter need not exist in this process. */
export class AdminCounters {
  readonly limiter: string;
  /** By dimension, as given. */
  readonly subject: Readonly<Record<string, string>>;
  readonly #adminStore: AdminStore;
  readonly #policy: CompiledPolicy;
  readonly #counters: readonly SubjectCounter[];
  /** The counters under the limiter's own policy, then those under each other one. */
  readonly #parts: readonly PolicyCounters[];
  readonly #failure: FailurePolicy;

  /** Throws `HEADGATE_INVALID_OPTION`, `HEADGATE_INVALID_LIMIT`, `HEADGATE_EMPTY_KEY`, `HEADGATE_INVALID_KEY`. */
  constructor(
    adminStore: AdminStore,
    limiter: LimiterDefinition,
    subject: Subjects,
    ignoreUnknownDimensions = false,
  ) {
    rejectUnknownOptions("limiter", limiter, [
      "name",
      "limits",
      "perCallPolicies",
      "blockOn",
      "shadow",
    ]);
    const { name, limits, perCallPolicies = [], blockOn, shadow } = limiter;
    requireName(name);
    this.limiter = name;
    this.#adminStore = adminStore;
    const how = { blockOn: readBlockOn(blockOn), shadow: readBoolean("shadow", shadow) };
    const compile = (policy: Policy) =>
      compileLimiterPolicy(name, readPolicy(policy), adminStore.store, how);
    this.#policy = compile(limits);
    this.#counters = countersOfGivenSubjects(this.#policy, subject, ignoreUnknownDimensions);
    const own = { policy: this.#policy, counters: this.#counters };
    this.#parts = [
      own,
      ...countersOfOtherPolicies(own, readPerCallPolicies(perCallPolicies).map(compile)),
    ];
    const named = this.#counters.map((counter) => [counter.group.dimension, counter.subject]);
    this.subject = Object.fromEntries(named);
    requireShortSubject(this.subject);
    this.#failure = readFailureOptions({
      storeTimeout: adminStore.monitor.timeoutMs,
      denyCache: false,
    });
  }

  /** Whether the limiter counts by none of the named dimensions. */
  get isEmpty(): boolean {
    return this.#counters.length === 0;
  }

  /** The current state of the limits. Rejects with the store's errors. */
  async inspect(): Promise<Inspection> {
    const decisions = await Promise.all(
      this.#parts.map((part) => this.#peek(part, part.counters, 0)),
    );
    const blocked = decisions.some((answer) => answer.blocked);
    const { store, monitor } = this.#adminStore;
    const blocks = blocked
      ? await this.#inspectBlocks((...call) => monitor.run(store, ...call))
      : [];
    return { limits: reportedLimits(decisions.map(({ limits }) => limits)), blocked, blocks };
  }

  /**
   * Makes a change, or with `dryRun` makes it on copies. Resolves with the limits before and after; rejects with the store's errors.
   */
  async change(change: CounterChange, dryRun: boolean): Promise<ChangeResult> {
    if (dryRun) return this.#preview(change);
    const before = await this.inspect();
    const policy = this.#policy;
    const fallback = createFallbackStage(policy, this.#failure);
    const servers = { ...this.#adminStore, policy };
    await this.#applyTo(createRedisStage(servers, fallback, new InFlight(), false), change);
    return { before, after: await this.inspect() };
  }

  /**
   * Previews a change: makes it on copies of the counters in this process's memory, using the twins of the scripts.
   * Rejects with the store's errors.
   */
  async #preview(change: CounterChange): Promise<ChangeResult> {
    const { store, monitor } = this.#adminStore;
    const copies = new MemoryTable(MAX_COPIES);
    let now = 0;
    for (const counter of this.#parts.flatMap(({ counters }) => counters)) {
      const call = { cost: 0, mode: "peek", counters: [counter] } as const;
      now = Math.max(now, await monitor.run(store, copyCounterTo(copies), call, counter.key));
    }
    const runNow: CountingStore["runSync"] = (operation, call) =>
      operation.runInMemory(call, copies, { now, generation: 1 });
    const run = async <Call, Reply>(operation: Operation<Call, Reply>, call: Call) =>
      runNow(operation, call);
    const copied = brandStore({
      owner: copies,
      prefix: store.prefix,
      now: () => now,
      run,
      runSync: runNow,
    });
    const inspectCopies = async (): Promise<Inspection> => {
      const decisions = this.#parts.map(({ policy, counters }) => {
        const request = createDecisionRequest(policy, counters, 0, "peek");
        return toDecision(request, [runNow(peek, request)], "store");
      });
      const limits = reportedLimits(decisions.map((decision) => decision.limits));
      const blocked = decisions.some((decision) => decision.blocked);
      return { limits, blocked, blocks: await this.#inspectBlocks(run) };
    };
    const before = await inspectCopies();
    await this.#applyTo(createMemoryStage({ ...this.#policy, store: copied }), change);
    return { before, after: await inspectCopies() };
  }

  /**
   * The decision that a request would get, without charging it, under the overrides of a control record. Rejects with
   * `HEADGATE_INVALID_COST`, and with the store's errors.
   */
  async peek(cost: unknown, { record, now }: ControlSnapshot): Promise<Decision> {
    const given = requireCost("cost", cost, this.#policy.limits);
    const policy = this.#policy;
    const isCompatible = createCompatibilityCheck(policy, this.#adminStore.monitor, () => []);
    const overrides = overridesIn(record, policy, isCompatible);
    const overridden = overrides?.override(this.#counters, now) ?? this.#counters;
    const { counters, cost: maxUnits } = assignCosts(overridden, given);
    return this.#peek({ policy }, counters, maxUnits);
  }

  async #peek(
    { policy }: Pick<PolicyCounters, "policy">,
    counters: readonly SubjectCounter[],
    cost: number,
  ): Promise<Decision> {
    const request = createDecisionRequest(policy, counters, cost, "peek");
    const { decisions } = await decideByHashSlot({ ...this.#adminStore, policy }, request);
    return toDecision(request, decisions, "store");
  }

  async #applyTo(stage: Stage, work: CounterChange): Promise<void> {
    await Promise.all(this.#parts.map(({ counters }) => work(stage, counters)));
  }

  async #inspectBlocks(run: RunOperation): Promise<readonly SubjectBlock[]> {
    const counters = this.#parts.flatMap((part) => part.counters);
    const found = await Promise.all(counters.map((counter) => inspectBlock(counter, run)));
    const blocks = new Map<string, SubjectBlock>();
    for (const block of found) {
      if (block === undefined) continue;
      // A block by hand is stored in each counter of a dimension.
      const id = JSON.stringify([block.per, block.limit]);
      const known = blocks.get(id);
      if (known === undefined || known.endsInMs < block.endsInMs) blocks.set(id, block);
    }
    return [...blocks.values()];
  }
}

/** The block of a counter; undefined if it has none. Rejects with `HEADGATE_WRONG_TYPE`, and with the errors of `run`. */
export async function inspectBlock(
  counter: SubjectCounter,
  run: RunOperation,
): Promise<SubjectBlock | undefined> {
  const call = { cost: 0, mode: "peek", counters: [counter] } as const;
  const { remaining, setBy } = await run(peekBlock, call, counter.key);
  if (remaining === 0) return undefined;
  const endsInMs = toMilliseconds(remaining);
  const { dimension: per } = counter.group;
  return setBy === "operator"
    ? { per, endsInMs }
    : { per, limit: counter.limits[setBy - 1]?.name, endsInMs };
}

/** Throws `HEADGATE_INVALID_OPTION`. */
function readPerCallPolicies(policies: unknown): readonly Policy[] {
  if (Array.isArray(policies)) return policies as readonly Policy[];
  throw invalidValue("perCallPolicies must be a list of policies", policies, formatKind);
}

/** The limits of the limiter's own policy, and those of the others that are in use. */
function reportedLimits(all: readonly (readonly LimitState[])[]): readonly LimitState[] {
  const [own = [], ...others] = all;
  return [...own, ...others.flat().filter(isUsed)];
}

function isUsed({ limit, remaining, resetAfterMs }: LimitState): boolean {
  return remaining < limit || resetAfterMs > 0;
}
