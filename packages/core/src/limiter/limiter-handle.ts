import { formatReceived, HeadgateError } from "../common/errors.ts";
import { rejectCloseOptions } from "../common/options.ts";
import type { WaiterGroup } from "../queue/queue.ts";
import type { Limiter } from "./limiter.ts";
import { uncacheLimiter } from "./limiter-cache.ts";
import type { LimiterInstance } from "./limiter-instance.ts";
import type { LimiterInternals, LimiterWithInternals } from "./limiter-internals.ts";
import { LIMITER } from "./limiter-internals.ts";
import { backendOf } from "./store-backend.ts";
import { createWaitMethods } from "./wait.ts";

type LimiterFunction<Args extends unknown[], Answer> = (...args: Args) => Promise<Answer>;

/** A handle of a limiter, closed separately: the limiter ends with its last handle. */
export function openHandle(
  instance: LimiterInstance,
  parent: Limiter | undefined,
): LimiterWithInternals {
  const { core, limits, consumeMethods, chargeMethods, blockMethods, limiterQueue } = instance;
  const { name, policy, perCallPolicies, monitor, control, overrides, usage, hasLease, inFlight } =
    core;
  const { consume, peek, consumeDimensions } = consumeMethods;
  const waiters: WaiterGroup = { closeError: undefined };
  const { wait, run, consumeOrWait } = createWaitMethods(
    core,
    consumeMethods,
    limiterQueue,
    waiters,
  );
  const parts: { isClosed: boolean } & LimiterInternals = {
    policy,
    perCallPolicies,
    parent,
    control,
    consumeDimensions,
    consumeOrWait,
    chargeMethods,
    inFlight,
    monitor,
    usage,
    hasLease,
    isInShadow: async () => (await overrides?.isInShadow()) ?? policy.shadow,
    isClosed: false,
  };
  instance.handles += 1;

  /** A method that rejects once this handle is closed. */
  function rejectWhenClosed<Args extends unknown[], Answer>(
    method: LimiterFunction<Args, Answer>,
  ): LimiterFunction<Args, Answer> {
    return (...args) => (parts.isClosed ? Promise.reject(closedError(name)) : method(...args));
  }

  /** The same for a method that `close` waits for. */
  function track<Args extends unknown[], Answer>(
    method: LimiterFunction<Args, Answer>,
  ): LimiterFunction<Args, Answer> {
    return rejectWhenClosed((...args) => inFlight.track(method(...args)));
  }

  async function close(...given: unknown[]): Promise<void> {
    rejectCloseOptions(given);
    if (parts.isClosed) return;
    parts.isClosed = true;
    instance.handles -= 1;
    const isLast = instance.handles === 0;
    if (isLast) uncacheLimiter(instance, { name, store: policy.store });
    limiterQueue.queue.close(closedError(name), waiters);
    await (isLast ? instance.end() : inFlight.allDone());
  }

  return {
    name,
    limits,
    [LIMITER]: parts,
    consume: rejectWhenClosed(consume),
    peek: rejectWhenClosed(peek),
    charge: track(chargeMethods.charge) as Limiter["charge"],
    settle: track(chargeMethods.settle) as Limiter["settle"],
    refund: track(chargeMethods.refund),
    release: chargeMethods.release,
    reset: track(blockMethods.reset),
    block: track(blockMethods.block),
    unblock: track(blockMethods.unblock),
    wait: rejectWhenClosed(wait),
    run: rejectWhenClosed(run) as Limiter["run"],
    ready: track(async () => backendOf(policy.store)?.warmUp(core) ?? true),
    close,
  };
}

/** The error of a closed limiter. */
export function closedError(name: string): HeadgateError {
  return new HeadgateError(
    "HEADGATE_CLOSED",
    `the limiter ${formatReceived(name)} has been closed`,
  );
}
