import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { windowMsAt } from "../algorithms/calendar.ts";
import type { LimitDescription } from "../common/policy.ts";
import { InFlight } from "../pipeline/in-flight.ts";
import type { CompiledPolicy } from "../policy/compiled-policy.ts";
import type { NameClaim } from "../policy/names.ts";
import type { CountingStore } from "../store/store.ts";
import { createBlocking } from "./blocking.ts";
import type { PolicyCompiler } from "./called-limits.ts";
import { createCharging } from "./charging.ts";
import type { ConsumePath } from "./consume.ts";
import { createConsumePath } from "./consume.ts";
import type { FailurePolicy } from "./failure-policy.ts";
import type { Limiter } from "./limiter.ts";
import type { LimiterCore } from "./limiter-core.ts";
import type { LimiterQueue } from "./limiter-queue.ts";
import { createLimiterQueue } from "./limiter-queue.ts";
import { PerCallPolicies } from "./per-call-policies.ts";
import { inMemory, serverSideOf } from "./store-backend.ts";

/** How a limiter counts, decides and waits. */
export interface SharedSettings {
  readonly name: string;
  readonly maxQueue: number;
  readonly claim: NameClaim;
  /** Whether another call can name its store; not if the store was created for this limiter. */
  readonly isShared: boolean;
  readonly failure: FailurePolicy;
  readonly compiler: PolicyCompiler;
}

/**
 * The shared part of a limiter created repeatedly under the same terms: each `createLimiter` adds a handle of a few hundred
 * bytes.
 */
export interface LimiterInstance {
  readonly core: LimiterCore;
  readonly limits: readonly LimitDescription[];
  readonly consumePath: ConsumePath;
  readonly charging: Pick<Limiter, "charge" | "settle" | "refund" | "release">;
  readonly blocking: Pick<Limiter, "block" | "unblock" | "reset">;
  readonly line: LimiterQueue;
  /** How many handles are open, or were dropped without `close`. */
  handles: number;
  /** Frees the name, and state shared with other limiters, once the calls in progress have ended. */
  end(): Promise<void>;
}

/** Releases the names of limiters that were dropped without `close`, both by the application and by the cache of kept limiters. */
const dropped = new FinalizationRegistry<Place>(({ name, claim, store: weak }) => {
  const store = weak.deref();
  if (claim.release() && store !== undefined) void leave(store, name);
});

/** References neither the limiter nor its client, which would then never be collected. */
interface Place {
  readonly name: string;
  readonly claim: NameClaim;
  readonly store: WeakRef<CountingStore>;
}

/** Creates the shared part of a limiter's handles. */
export function makeShared(
  counted: CompiledPolicy,
  { name, maxQueue, claim, failure, isShared, compiler }: SharedSettings,
): LimiterInstance {
  const { store } = counted;
  const inFlight = new InFlight();
  const side = serverSideOf(store);
  const news = side?.newsOfShapes(store, name);
  const shapes = new PerCallPolicies(name, news);
  const chosen =
    side === undefined ? inMemory(counted) : side.open(counted, failure, inFlight, shapes);
  const hasLease = failure.lease !== undefined;
  const core: LimiterCore = { name, counted, shapes, hasLease, inFlight, ...chosen };
  const consumePath = createConsumePath(core, compiler);
  const charging = createCharging(core, consumePath);

  async function end(): Promise<void> {
    dropped.unregister(core);
    const isLast = claim.release();
    shapes.close();
    const leaving = isLast && side?.unlist(store, name);
    await inFlight.allDone();
    core.control?.stop();
    const closing = core.chain.close();
    // Another limiter may have taken the name meanwhile, and the usage belongs to it then.
    const isFree = isLast && !claim.isClaimed();
    await Promise.all([closing, leaving, isFree && side?.endUsage(store, name)]);
  }

  if (isShared) dropped.register(core, { name, claim, store: new WeakRef(store) }, core);
  return {
    core,
    limits: counted.limits.map((limit) => describeLimit(limit, store)),
    consumePath,
    charging,
    blocking: createBlocking(core),
    line: createLimiterQueue(core, charging, maxQueue),
    handles: 0,
    end,
  };
}

async function leave(store: CountingStore, name: string): Promise<void> {
  const side = serverSideOf(store);
  await Promise.all([side?.unlist(store, name), side?.endUsage(store, name)]);
}

function describeLimit(compiled: CompiledLimit, store: CountingStore): LimitDescription {
  const { name, per, limit, windowMs, calendar } = compiled;
  if (calendar === undefined) return { name, per, limit, windowMs };
  return {
    name,
    per,
    limit,
    get windowMs() {
      return windowMsAt(compiled, store.now());
    },
  };
}
