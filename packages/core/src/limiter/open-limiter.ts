import { formatReceived, HeadgateError } from "../common/errors.ts";
import { rejectCloseOptions } from "../common/options.ts";
import type { Waiters } from "../queue/line.ts";
import { dropLimiter } from "./kept-limiters.ts";
import type { Limiter } from "./limiter.ts";
import type { LimiterParts, MadeLimiter } from "./limiter-parts.ts";
import { LIMITER } from "./limiter-parts.ts";
import { serverSideOf } from "./server-side.ts";
import type { SharedLimiter } from "./shared-limiter.ts";
import { createWaiting } from "./waiting.ts";

type Ask<Args extends unknown[], Answer> = (...args: Args) => Promise<Answer>;

/** A handle of a limiter, closed separately: the limiter ends with its last handle. */
export function openLimiter(shared: SharedLimiter, parent: Limiter | undefined): MadeLimiter {
  const { core, limits, asking, charging, blocking, line } = shared;
  const { name, counted, shapes, watch, control, overrides, usage, hasLease, flights } = core;
  const { consume, peek, consumeIn } = asking;
  const waiters: Waiters = { ended: undefined };
  const { wait, run, consumeInTurn } = createWaiting(core, asking, line, waiters);
  const parts: { isClosed: boolean } & LimiterParts = {
    counted,
    shapes,
    parent,
    control,
    consumeIn,
    consumeInTurn,
    charging,
    flights,
    watch,
    usage,
    hasLease,
    isInShadow: async () => (await overrides?.shadow()) ?? counted.shadow,
    isClosed: false,
  };
  shared.handles += 1;

  /** A method that rejects once this handle is closed. */
  function open<Args extends unknown[], Answer>(ask: Ask<Args, Answer>): Ask<Args, Answer> {
    return (...args) => (parts.isClosed ? Promise.reject(closedError(name)) : ask(...args));
  }

  /** The same for a method that `close` waits for. */
  function tracked<Args extends unknown[], Answer>(ask: Ask<Args, Answer>): Ask<Args, Answer> {
    return open((...args) => flights.track(ask(...args)));
  }

  async function close(...given: unknown[]): Promise<void> {
    rejectCloseOptions(given);
    if (parts.isClosed) return;
    parts.isClosed = true;
    shared.handles -= 1;
    const isLast = shared.handles === 0;
    if (isLast) dropLimiter(shared, { name, store: counted.store });
    line.queue.close(closedError(name), waiters);
    await (isLast ? shared.end() : flights.allDone());
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
