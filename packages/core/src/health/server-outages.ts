import type { HeadgateError } from "../common/errors.ts";
import { codeOf } from "../common/errors.ts";
import type { EventLoopClock } from "./event-loop-clock.ts";
import type { Recovery } from "./recovery.ts";
import { startRecovery } from "./recovery.ts";

/** A server that fails again within this many milliseconds is probed less often than the last time. */
const RELAPSE_MS = 5_000;

/** A call whose server can be probed. */
export interface ProbeTarget {
  /** Checks, outside any request, whether the server of its key answers. */
  probe(): Promise<unknown>;
}

export interface OutageOptions {
  /** The longest wait for an answer, in milliseconds of `clock`. */
  readonly timeoutMs: number;
  readonly clock: EventLoopClock;
  /** Called each second in which the unavailable server does not respond at all. */
  readonly onSilence: () => void;
  /** Called with the error of a failed probe; the server may be back with another configuration. */
  readonly onProbeFailure: (error: HeadgateError) => void;
  readonly onDown: (reason: HeadgateError) => void;
  readonly onUp: (downMs: number, rejectedCalls: number) => void;
}

/** A period in which a server does not answer; each outage is a separate object. */
export interface Outage {
  readonly startedAt: number;
  /** The last known reason. */
  reason: HeadgateError;
  /** The number of calls that were not sent. */
  rejectedCalls: number;
  /**
   * The last call that was not sent. Its key is probed, too, so that a problem of one hash slot does not count as an outage of
   * the whole server for long.
   */
  lastRejected: ProbeTarget;
  readonly recovery: Recovery;
}

/** The outages of one server. In each, the server is probed until it answers. */
export class ServerOutages {
  /** Undefined while the server is up. A field, because every call reads it. */
  current: Outage | undefined = undefined;
  readonly #options: OutageOptions;
  readonly #onRecovered: () => void;
  /** When the last outage ended. */
  #endedAt = Number.NEGATIVE_INFINITY;
  /** How often the server failed again soon after a recovery. */
  #relapses = 0;
  #isStopped = false;

  /** `onRecovered` is called first when the server answers again. */
  constructor(options: OutageOptions, onRecovered: () => void) {
    this.#options = options;
    this.#onRecovered = onRecovered;
  }

  /** Begins an outage detected by a call, unless there is one already. */
  begin(call: ProbeTarget, reason: HeadgateError): void {
    if (this.#isStopped || this.current !== undefined) return;
    const startedAt = performance.now();
    this.#relapses = startedAt - this.#endedAt < RELAPSE_MS ? this.#relapses + 1 : 0;
    let tries = 0;
    const recovery = startRecovery({
      attempt: () => {
        tries += 1;
        return this.#try(tries % 2 === 1 ? (this.current?.lastRejected ?? call) : call);
      },
      withinMs: this.#options.timeoutMs,
      clock: this.#options.clock,
      initialFailures: this.#relapses,
      onSuccess: () => this.#end(),
      onSilence: this.#options.onSilence,
    });
    this.current = { startedAt, reason, rejectedCalls: 0, recovery, lastRejected: call };
    this.#options.onDown(reason);
  }

  /** Stops probing the server. */
  stop(): void {
    this.#isStopped = true;
    this.current?.recovery.stop();
  }

  async #try(call: ProbeTarget): Promise<void> {
    try {
      await call.probe();
    } catch (error) {
      if (this.current !== undefined && codeOf(error) !== undefined) {
        this.current.reason = error as HeadgateError;
        this.#options.onProbeFailure(error as HeadgateError);
      }
      throw error;
    }
  }

  #end(): void {
    const { startedAt, rejectedCalls } = this.current as Outage;
    const now = performance.now();
    this.current = undefined;
    this.#endedAt = now;
    this.#onRecovered();
    this.#options.onUp(now - startedAt, rejectedCalls);
  }
}
