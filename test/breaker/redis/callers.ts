import { setTimeout as delay } from "node:timers/promises";
import type { BreakerState, Target } from "@headgate/breaker";
import { HeadgateBreakerOpenError } from "@headgate/breaker";
import { watchStalls } from "../../faults/stalls.ts";

/** One call and how it ended. */
export interface Called {
  readonly target: string;
  /** When it was made, of `performance.now()`. */
  readonly at: number;
  /** Without the time in which the machine let this process do nothing. The upstream takes none. */
  readonly tookMs: number;
  readonly ended: "fine" | "failed" | "refused";
  readonly state: BreakerState;
  readonly degraded: boolean;
}

/** An upstream that fails where a test says so. */
export interface Upstream {
  isWell: boolean;
}

export interface Callers {
  /** In the order of their ends. */
  readonly called: readonly Called[];
  /** Resolves when no call is open. Rejects with what a caller got that is neither the upstream's nor a refusal. */
  stop(): Promise<void>;
}

class UpstreamFailed extends Error {}

/** One caller for each target, who calls again a pause after each end. */
export function startCallers(
  targets: readonly (readonly [Target<string>, Upstream])[],
  pauseMs: number,
): Callers {
  const called: Called[] = [];
  const stalls = watchStalls();
  let isOver = false;

  async function call(target: Target<string>, upstream: Upstream): Promise<void> {
    const at = performance.now();
    const permit = await target.admit();
    const answered = performance.now();
    let ended: Called["ended"] = "refused";
    if (permit.allowed) {
      ended = upstream.isWell ? "fine" : "failed";
      // Nobody waits until it is counted.
      void permit.record(upstream.isWell ? "success" : "failure");
    }
    const tookMs = answered - at - stalls.stalledMs(at, answered);
    const { state, degraded } = permit;
    called.push({ target: target.target, at, tookMs, ended, state, degraded });
  }

  /** The same as most callers do it: what it throws is the upstream's, or a refusal. */
  async function run(target: Target<string>, upstream: Upstream): Promise<void> {
    try {
      await target.run(() => {
        if (upstream.isWell) return "fine";
        throw new UpstreamFailed();
      });
    } catch (error) {
      if (error instanceof UpstreamFailed || error instanceof HeadgateBreakerOpenError) return;
      throw error;
    }
  }

  const callers = targets.map(async ([target, upstream]) => {
    while (!isOver) {
      await call(target, upstream);
      await delay(pauseMs);
      await run(target, upstream);
      await delay(pauseMs);
    }
  });
  const all = Promise.all(callers);
  all.catch(() => {});
  return {
    called,
    async stop() {
      isOver = true;
      stalls.stop();
      await all;
    },
  };
}

/** The longest wait of some calls, in milliseconds. */
export function longest(called: readonly Called[]): number {
  return Math.max(0, ...called.map(({ tookMs }) => tookMs));
}
