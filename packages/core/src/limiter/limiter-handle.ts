import { formatReceived, HeadgateError } from "../common/errors.ts";
import { rejectCloseOptions } from "../common/options.ts";
import { yieldToEventLoop } from "../common/yield-to-event-loop.ts";
import type { WaiterGroup } from "../queue/queue.ts";
import type { Limiter } from "./limiter.ts";
import { uncacheLimiter } from "./limiter-cache.ts";
import type { LimiterInstance } from "./limiter-instance.ts";
import type { LimiterInternals, LimiterWithInternals } from "./limiter-internals.ts";
import { LIMITER } from "./limiter-internals.ts";
import { backendOf } from "./store-backend.ts";
import { createWaitMethods } from "./wait.ts";

type LimiterFunction<Args extends unknown[], Result> = (...args: Args) => Promise<Result>;

/** Opens a handle of a limiter. Each is closed separately, and the limiter ends with the last one. */
export function openHandle(
  instance: LimiterInstance,
  parent: Limiter | undefined,
): LimiterWithInternals {
  const { core, limits, consumeMethods, chargeMethods, blockMethods, limiterQueue } = instance;
  const { name, policy, perCallPolicies, monitor, control, overrides, usage, hasLease } = core;
  const { inFlight, requestsInFlight } = core;
  const { consume, peek, consumeGroups } = consumeMethods;
  const waiterGroup: WaiterGroup = { closeError: undefined };
  const { wait, run, consumeOrWait } = createWaitMethods(
    core,
    consumeMethods,
    limiterQueue,
    waiterGroup,
  );
  const internals: { isClosed: boolean } & LimiterInternals = {
    policy,
    perCallPolicies,
    parent,
    control,
    consumeGroups,
    consumeOrWait,
    chargeMethods,
    requestsInFlight,
    monitor,
    usage,
    hasLease,
    isInShadow: async () => (await overrides?.isInShadow()) ?? policy.shadow,
    isClosed: false,
  };
  instance.handles += 1;

  /** A method that rejects once this handle is closed, and that can be awaited in a loop. */
  function rejectWhenClosed<Args extends unknown[], Result>(
    method: LimiterFunction<Args, Result>,
  ): LimiterFunction<Args, Result> {
    return (...args) =>
      yieldToEventLoop(internals.isClosed ? Promise.reject(closedError(name)) : method(...args));
  }

  /** The same for a method that `close` waits for. */
  function track<Args extends unknown[], Result>(
    method: LimiterFunction<Args, Result>,
  ): LimiterFunction<Args, Result> {
    return rejectWhenClosed((...args) => inFlight.track(method(...args)));
  }

  async function close(...given: unknown[]): Promise<void> {
    rejectCloseOptions(given);
    if (internals.isClosed) return;
    internals.isClosed = true;
    instance.handles -= 1;
    const isLast = instance.handles === 0;
    if (isLast) uncacheLimiter(instance, { name, store: policy.store });
    limiterQueue.queue.close(closedError(name), waiterGroup);
    await (isLast ? instance.end() : instance.allDone());
  }

  return {
    name,
    limits,
    [LIMITER]: internals,
    consume: rejectWhenClosed(consume),
    peek: rejectWhenClosed(peek),
    charge: track(chargeMethods.charge) as Limiter["charge"],
    settle: track(chargeMethods.settle) as Limiter["settle"],
    refund: track(chargeMethods.refund),
    release: (...args) => yieldToEventLoop(chargeMethods.release(...args)),
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
