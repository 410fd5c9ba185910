import { formatReceived, HeadgateError } from "../common/errors.ts";
import { rejectCloseOptions } from "../common/options.ts";
import type { WaiterGroup } from "../queue/queue.ts";
import { dropLimiter } from "./kept-limiters.ts";
import type { Limiter } from "./limiter.ts";
import type { LimiterInstance } from "./limiter-instance.ts";
import type { LimiterParts, MadeLimiter } from "./limiter-parts.ts";
import { LIMITER } from "./limiter-parts.ts";
import { serverSideOf } from "./store-backend.ts";
import { createWaiting } from "./waiting.ts";

type LimiterFunction<Args extends unknown[], Answer> = (...args: Args) => Promise<Answer>;

/** A handle of a limiter, closed separately: the limiter ends with its last handle. */
export function openLimiter(shared: LimiterInstance, parent: Limiter | undefined): MadeLimiter {
  const { core, limits, consumePath, charging, blocking, line } = shared;
  const { name, counted, shapes, watch, control, overrides, usage, hasLease, inFlight } = core;
  const { consume, peek, consumeIn } = consumePath;
  const waiters: WaiterGroup = { closeError: undefined };
  const { wait, run, consumeInTurn } = createWaiting(core, consumePath, line, waiters);
  const parts: { isClosed: boolean } & LimiterParts = {
    counted,
    shapes,
    parent,
    control,
    consumeIn,
    consumeInTurn,
    charging,
    inFlight,
    watch,
    usage,
    hasLease,
    isInShadow: async () => (await overrides?.isInShadow()) ?? counted.shadow,
    isClosed: false,
  };
  shared.handles += 1;

  /** A method that rejects once this handle is closed. */
  function open<Args extends unknown[], Answer>(
    ask: LimiterFunction<Args, Answer>,
  ): LimiterFunction<Args, Answer> {
    return (...args) => (parts.isClosed ? Promise.reject(closedError(name)) : ask(...args));
  }

  /** The same for a method that `close` waits for. */
  function tracked<Args extends unknown[], Answer>(
    ask: LimiterFunction<Args, Answer>,
  ): LimiterFunction<Args, Answer> {
    return open((...args) => inFlight.track(ask(...args)));
  }

  async function close(...given: unknown[]): Promise<void> {
    rejectCloseOptions(given);
    if (parts.isClosed) return;
    parts.isClosed = true;
    shared.handles -= 1;
    const isLast = shared.handles === 0;
    if (isLast) dropLimiter(shared, { name, store: counted.store });
    line.queue.close(closedError(name), waiters);
    await (isLast ? shared.end() : inFlight.allDone());
  }

  return {
    name,
    limits,
    [LIMITER]: parts,
    consume: open(consume),
    peek: open(peek),
    charge: tracked(charging.charge) as Limiter["charge"],
    settle: tracked(charging.settle) as Limiter["settle"],
    refund: tracked(charging.refund),
    release: charging.release,
    reset: tracked(blocking.reset),
    block: tracked(blocking.block),
    unblock: tracked(blocking.unblock),
    wait: open(wait),
    run: open(run) as Limiter["run"],
    ready: tracked(async () => serverSideOf(counted.store)?.ready(core) ?? true),
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
