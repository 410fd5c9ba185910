import type { Limiter, Subjects } from "@headgate/core";
import { codeOf } from "@headgate/core/internal";
import { idOf, remember } from "./recent-subjects.ts";

/** The first backoff without a time from the provider, in milliseconds; each further one is twice as long. */
const FIRST_BACKOFF_MS = 1_000;

/** A backoff is never doubled more often. */
const MAX_DOUBLINGS = 20;

/** How long after a cooldown began, in milliseconds, calls may arrive here that were admitted before it. */
const ADMISSION_MS = 250;

/** How often a cooldown is sent again to a store that did not take it, in milliseconds. */
const SEND_AGAIN_MS = 1_000;

/** How long the calls of a process wait for the answer to a trial call, in milliseconds; then they are sent without it. */
const TRIAL_MS = 2_000;

/**
 * The call that a process that got a limited answer sends first after the cooldown, while its others wait: what has passed by then may
 * be more than the provider takes, which its answer says.
 */
export class Trial {
  readonly startedAt: number = performance.now();
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
  /** Whether its answer is there, so that its end has to wait for what the answer says. */
  isAnswered = false;
  #resolve: () => void = () => {};

  constructor() {
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  end(): void {
    this.#resolve();
  }

  /** Milliseconds until the other calls are sent without its answer. */
  get restMs(): number {
    return Math.max(0, this.startedAt + TRIAL_MS - performance.now());
  }
}

/** The cooldowns of a subject in a row, with no answer in between that was not limited. */
interface CooldownState {
  /** When the present one began and ends, in milliseconds of `performance.now()`. */
  startedAt: number;
  endsAt: number;
  /** How many came before it. */
  before: number;
  /** Whether only this process holds it. */
  isLocal: boolean;
  /** Whether the limiter lets calls through despite its block, so that this process holds them. */
  readonly isShadow: boolean;
  /** The first call that was sent since then, if it has not ended. */
  trial: Trial | undefined;
}

/** A cooldown that has begun. */
export interface StartedCooldown {
  readonly durationMs: number;
  readonly isLocal: boolean;
  /** Whether it is new, or lasts longer than the present one. */
  readonly isNew: boolean;
}

/** What a limited answer says. */
export interface LimitedAnswer {
  /** When its request was admitted, in milliseconds of `performance.now()`. */
  readonly admittedAt: number;
  /** Milliseconds until the next request may succeed, where the provider says so. */
  readonly waitMs: number | undefined;
  /** The longest cooldown that it may begin, in milliseconds. */
  readonly maxMs: number;
  readonly reason: string;
  /** Whether the limiter lets calls through despite a block: it is in shadow mode. */
  readonly isShadow: boolean;
}

/** A random backoff of at least half of `FIRST_BACKOFF_MS`, doubled `doublings` times. */
export function backoffMs(doublings: number, random: number = Math.random()): number {
  const longest = FIRST_BACKOFF_MS * 2 ** Math.min(doublings, MAX_DOUBLINGS);
  return Math.ceil(longest * (0.5 + random / 2));
}

/**
 * The cooldowns of the subjects of a limiter, for all functions that send with it. They are blocks in its store; if it does not take
 * one, this process holds it alone until it does.
 */
export class Cooldowns {
  readonly #limiter: Limiter;
  readonly #states = new Map<string, CooldownState>();

  constructor(limiter: Limiter) {
    this.#limiter = limiter;
  }

  /** Milliseconds for which this process must not send, because the store does not hold the subject's calls. */
  localRestMs(subject: Subjects): number {
    const state = this.#states.size === 0 ? undefined : this.#states.get(idOf(subject));
    if (state === undefined || !(state.isLocal || state.isShadow)) return 0;
    return Math.max(0, state.endsAt - performance.now());
  }

  /** After a cooldown: the trial call that is on its way. Undefined if there is none, or it takes too long. */
  trialOf(subject: Subjects): Trial | undefined {
    const trial = this.#states.size === 0 ? undefined : this.#states.get(idOf(subject))?.trial;
    return trial === undefined || trial.restMs === 0 ? undefined : trial;
  }

  /** Makes a call that is about to be sent the trial call, if it is the first one after a cooldown. */
  startTrial(subject: Subjects): Trial | undefined {
    const state = this.#states.size === 0 ? undefined : this.#states.get(idOf(subject));
    if (state === undefined) return undefined;
    // A call that was admitted before the block was set, and is still on its way, is not the first one after the cooldown.
    if (state.trial !== undefined && state.trial.startedAt >= overAt(state)) return undefined;
    const trial = new Trial();
    state.trial = trial;
    void trial.ended.then(() => {
      if (state.trial === trial) state.trial = undefined;
    });
    return trial;
  }

  /** Begins a cooldown, or extends the present one; never shortens it. Never rejects. */
  async start(subject: Subjects, answer: LimitedAnswer): Promise<StartedCooldown> {
    const id = idOf(subject);
    const now = performance.now();
    const known = this.#states.get(id);
    // Its request was on its way when the present one began, so it says nothing about what comes after it.
    const wasInFlight =
      known !== undefined &&
      now < known.endsAt &&
      answer.admittedAt < known.startedAt + ADMISSION_MS;
    const before = known === undefined ? 0 : wasInFlight ? known.before : known.before + 1;
    const given = answer.waitMs === undefined || answer.waitMs === 0 ? undefined : answer.waitMs;
    if (wasInFlight && (given === undefined || now + given <= known.endsAt)) {
      return {
        durationMs: Math.max(0, known.endsAt - now),
        isLocal: known.isLocal,
        isNew: false,
      };
    }
    const durationMs = Math.min(answer.maxMs, given ?? backoffMs(before));
    const endsAt = Math.max(now + durationMs, known?.endsAt ?? 0);
    const state: CooldownState = {
      startedAt: wasInFlight ? known.startedAt : now,
      endsAt,
      before,
      isLocal: false,
      isShadow: answer.isShadow,
      trial: undefined,
    };
    remember(this.#states, id, state);
    // The store may not have taken the one before, which may last longer.
    const blockMs = known?.isLocal === true ? Math.ceil(endsAt - now) : durationMs;
    try {
      await this.#limiter.block(subject, blockMs, { reason: answer.reason });
    } catch {
      // The store is unavailable, or the limiter closed: other processes do not hear of it, but this one keeps to it.
      state.isLocal = true;
      this.#sendLater(subject, state, answer.reason);
    }
    return { durationMs, isLocal: state.isLocal, isNew: true };
  }

  /** Sends the rest of a cooldown that the store did not take, until it does or the cooldown is over or followed by another. */
  #sendLater(subject: Subjects, state: CooldownState, reason: string): void {
    const send = async (): Promise<void> => {
      const restMs = Math.ceil(state.endsAt - performance.now());
      if (restMs <= 0 || this.#states.get(idOf(subject)) !== state) return;
      try {
        await this.#limiter.block(subject, restMs, { reason });
        state.isLocal = false;
      } catch (error) {
        if (codeOf(error) !== "HEADGATE_CLOSED") this.#sendLater(subject, state, reason);
      }
    };
    setTimeout(() => void send(), SEND_AGAIN_MS).unref();
  }

  /** An answer to a request admitted at this time was not limited: the next backoff is a short one again. */
  onSuccess(subject: Subjects, admittedAt: number): void {
    if (this.#states.size === 0) return;
    const id = idOf(subject);
    const state = this.#states.get(id);
    if (state === undefined) return;
    if (admittedAt < overAt(state)) return;
    this.#states.delete(id);
    state.trial?.end();
  }
}

/**
 * From when on admitted calls came after a cooldown, in milliseconds of `performance.now()`. An operator can end a block of the store
 * early; but a call may have been admitted before it was set.
 */
function overAt({ startedAt, endsAt, isLocal, isShadow }: CooldownState): number {
  return isLocal || isShadow ? endsAt : Math.min(endsAt, startedAt + ADMISSION_MS);
}
