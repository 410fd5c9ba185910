import { channel } from "node:diagnostics_channel";
import { setTimeout as delay } from "node:timers/promises";
import type { Cost, Limiter, Subjects } from "@headgate/core";
import { HeadgateError } from "@headgate/core";
import { addAbortCallback, codeOf, publish } from "@headgate/core/internal";
import type { Admission, Answer, Refusal } from "./attempt.ts";
import type { CallRetry, Cooldown } from "./channels.ts";
import { FETCH_CHANNELS } from "./channels.ts";
import type { Cooldowns, Trial } from "./cooldowns.ts";
import { backoffMs } from "./cooldowns.ts";
import type { ProviderAnswer } from "./dialects/dialect.ts";
import type { AnswerHead } from "./dialects/read-answer.ts";
import { UNAVAILABLE } from "./dialects/read-answer.ts";
import { readBody } from "./dialects/read-body.ts";
import type { ReadHead } from "./dialects/read-head.ts";
import { readHead } from "./dialects/read-head.ts";
import type { OutgoingRequest } from "./fetch-options.ts";
import { isIdempotent } from "./outgoing-request.ts";
import type { ProviderBudgets } from "./provider-budgets.ts";
import type { OutgoingSettings } from "./read-options.ts";
import { MAX_TIMER_MS } from "./read-options.ts";

type Admitted = Pick<Admission, "decision" | "release">;

/** The codes of errors of the limiter that say that it does not admit a call. */
const CODES_WITHOUT_ADMISSION: readonly unknown[] = [
  "HEADGATE_WAIT_TIMEOUT",
  "HEADGATE_QUEUE_FULL",
  "HEADGATE_DENIED",
  "HEADGATE_CLOSED",
];

/** How often a call looks whether the store has taken a cooldown that this process holds by itself, in milliseconds. */
const LOCAL_CHECK_MS = 1_000;

const cooldownChannel = channel(FETCH_CHANNELS.cooldown);
const retryChannel = channel(FETCH_CHANNELS.retry);

/** What the calls through one `limitFetch` or interceptor share; the cooldowns and budgets are those of all with the limiter. */
export interface SharedByCalls {
  readonly settings: OutgoingSettings;
  readonly cooldowns: Cooldowns;
  readonly budgets: ProviderBudgets;
  /** Reports headers of an origin that cannot be read. */
  report(url: URL, unreadable: readonly string[]): void;
}

/** One call: its attempts, and how long it has waited. */
export class OutgoingCall {
  readonly #calls: SharedByCalls;
  readonly #request: OutgoingRequest;
  readonly #subject: Subjects;
  readonly #cost: Cost;
  #waitedMs = 0;
  #attempts = 0;
  /** How long to wait before the next attempt, in milliseconds. */
  #backoffMs = 0;

  constructor(calls: SharedByCalls, request: OutgoingRequest, subject: Subjects, cost: Cost) {
    this.#calls = calls;
    this.#request = request;
    this.#subject = subject;
    this.#cost = cost;
  }

  get #limiter(): Limiter {
    return this.#calls.settings.limiter;
  }

  /** Milliseconds that the call may still wait. */
  get #leftMs(): number {
    return this.#calls.settings.timeoutMs - this.#waitedMs;
  }

  /** Whether the request is not sent again after the attempt that was admitted last. */
  get isLastAttempt(): boolean {
    return this.#attempts > this.#calls.settings.retries;
  }

  /**
   * Waits for admission; undefined if a call that was sent before is not admitted again, so that it ends with its last response.
   * Rejects with the limiter's errors and the signal's reason.
   */
  async admit(signal: AbortSignal | undefined): Promise<Admission | undefined> {
    try {
      return await this.#admit(signal);
    } catch (error) {
      if (this.#attempts > 0 && CODES_WITHOUT_ADMISSION.includes(codeOf(error))) return undefined;
      throw error;
    }
  }

  async #admit(signal: AbortSignal | undefined): Promise<Admission> {
    const startedAt = performance.now();
    const { cooldowns } = this.#calls;
    try {
      await this.#sleep(this.#backoffMs, startedAt, signal);
      for (;;) {
        await this.#waitForLocalCooldown(startedAt, signal);
        const admitted = await this.#enter(Math.ceil(this.#leftMs - elapsed(startedAt)), signal);
        const trial = this.#trial;
        if (trial === undefined && cooldowns.localRestMs(this.#subject) === 0) {
          return this.#send(admitted);
        }
        // A cooldown that the store does not hold began while it was in line, or one has just ended. Calls that kept their admissions
        // would all be sent at once, and fewer units may be left by then.
        await this.#giveBack(admitted);
        if (trial !== undefined) await this.#waitForTrial(trial, startedAt, signal);
      }
    } finally {
      this.#waitedMs += elapsed(startedAt);
      this.#backoffMs = 0;
    }
  }

  /**
   * Waits while this process holds a cooldown by itself. Looks again each second, because the store may have taken it: from then on
   * the call waits in line, and goes on when the block ends.
   */
  async #waitForLocalCooldown(startedAt: number, signal: AbortSignal | undefined): Promise<void> {
    const rest = (): number => this.#calls.cooldowns.localRestMs(this.#subject);
    for (let ms = rest(); ms > 0; ms = rest()) {
      await this.#sleep(ms, startedAt, signal, LOCAL_CHECK_MS);
    }
  }

  /** The trial call that it has to wait for. A call that does not wait is sent as the limiter allows. */
  get #trial(): Trial | undefined {
    if (this.#calls.settings.timeoutMs === 0) return undefined;
    return this.#calls.cooldowns.trialOf(this.#subject);
  }

  #send({ decision, release }: Admitted): Admission {
    this.#attempts += 1;
    const trial = this.#calls.cooldowns.startTrial(this.#subject);
    return {
      decision,
      at: performance.now(),
      trial,
      release() {
        if (trial?.isAnswered === false) trial.end();
        return release();
      },
    };
  }

  async #giveBack({ decision, release }: Admitted): Promise<void> {
    await Promise.all([this.#limiter.refund(decision), release()]).catch(() => {});
  }

  /** Waits for the end of a trial call, or until it takes too long. Rejects as `#sleep` does, once no time is left. */
  async #waitForTrial(
    trial: Trial,
    startedAt: number,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const leftMs = this.#leftMs - elapsed(startedAt);
    if (leftMs <= 0) throw this.#tooLong(trial.restMs);
    signal?.throwIfAborted();
    const wait = new AbortController();
    const stop = (): void => wait.abort();
    void trial.ended.then(stop);
    // Not by AbortSignal.any, which in Node 20 keeps 2.7 kB for as long as the signal lives.
    const stopFollowing = signal && addAbortCallback(signal, stop);
    const waitMs = Math.min(trial.restMs, leftMs);
    await delay(waitMs, undefined, { signal: wait.signal }).catch(() => {});
    stopFollowing?.();
    signal?.throwIfAborted();
  }

  /** Enters the limiter's line. Slots are held and renewed until they are released. */
  #enter(leftMs: number, signal: AbortSignal | undefined): Promise<Admitted> {
    const { slotTtlMs, timeoutMs } = this.#calls.settings;
    const timeout = timeoutMs === 0 ? 0 : Math.max(1, leftMs);
    const options = { cost: this.#cost, timeout, signal };
    if (slotTtlMs === undefined) {
      const release = async (): Promise<void> => {};
      return this.#limiter.run(this.#subject, ({ decision }) => ({ decision, release }), options);
    }
    return new Promise((resolve, reject) => {
      // The signal ends the wait, but not the work, which ends when the slots are released.
      const run = this.#limiter.run(
        this.#subject,
        ({ decision }) =>
          new Promise<void>((end) => {
            resolve({
              decision,
              release() {
                end();
                return run;
              },
            });
          }),
        options,
      );
      run.catch(reject);
    });
  }

  /**
   * Sleeps, or rejects at once if that would take longer than the call may wait: with `HEADGATE_WAIT_TIMEOUT` or, if it does not wait,
   * `HEADGATE_DENIED`. It has waited since `startedAt`. Wakes after `atMostMs`.
   */
  async #sleep(
    ms: number,
    startedAt: number,
    signal: AbortSignal | undefined,
    atMostMs: number = MAX_TIMER_MS,
  ): Promise<void> {
    if (ms === 0) return;
    signal?.throwIfAborted();
    if (ms > this.#leftMs - elapsed(startedAt)) throw this.#tooLong(ms);
    try {
      await delay(
        Math.min(Math.ceil(ms), atMostMs),
        undefined,
        signal === undefined ? {} : { signal },
      );
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  }

  #tooLong(ms: number): HeadgateError {
    return new HeadgateError(
      this.#calls.settings.timeoutMs === 0 ? "HEADGATE_DENIED" : "HEADGATE_WAIT_TIMEOUT",
      `no request may be sent to ${this.#request.url.host} for another ${Math.ceil(ms)} ms, which is longer than the call may wait`,
    );
  }

  /**
   * Learns from an answer: begins a cooldown, charges what the provider counts beyond the limiter. Resolves with the refusal if it is
   * one. Never rejects. `head` is what its head says.
   */
  async onAnswer(
    admission: Admission,
    answer: Answer,
    head: ReadHead = this.readHead(answer),
  ): Promise<Refusal | undefined> {
    const { cooldowns, budgets } = this.#calls;
    const { trial } = admission;
    if (trial !== undefined) trial.isAnswered = true;
    const read = await readWhole(answer, head);
    this.#calls.report(this.#request.url, read.unreadable);
    // When a cooldown is over, more is left than the answer that began it says. A redirect may lead to another API.
    const charged =
      read.isLimited || answer.isRedirected === true
        ? undefined
        : budgets.apply(this.#subject, admission.decision, read.budgets, trial !== undefined);
    if (!read.isLimited && answer.status !== UNAVAILABLE) {
      const pass = (): void => {
        cooldowns.onSuccess(this.#subject, admission.at);
        trial?.end();
      };
      // The calls behind a trial call line up for no more than the provider has left.
      if (trial === undefined || charged === undefined) pass();
      else void charged.then(pass);
      return undefined;
    }
    const { status } = answer;
    const cooldownMs = read.isLimited ? await this.#coolDown(admission, status, read) : undefined;
    trial?.end();
    return {
      status,
      cooldownMs,
      isUnprocessed: status !== UNAVAILABLE && answer.isRedirected !== true,
      isFinal: read.shouldRetry === false,
    };
  }

  /** Whether the request is sent again after a refusal. The next attempt waits for its time. */
  retries({ status, cooldownMs, isUnprocessed, isFinal }: Refusal): boolean {
    const { retries } = this.#calls.settings;
    if (this.#attempts > retries || isFinal || !(isUnprocessed || isIdempotent(this.#request))) {
      return false;
    }
    const ownMs = cooldownMs === undefined ? backoffMs(this.#attempts - 1) : 0;
    // Even alone in line, the call would not be admitted in time.
    if ((cooldownMs ?? ownMs) > this.#leftMs) return false;
    this.#backoffMs = ownMs;
    if (retryChannel.hasSubscribers) {
      publish(retryChannel, {
        ...this.#labels,
        status,
        attempts: this.#attempts,
      } satisfies CallRetry);
    }
    return true;
  }

  /** Begins a cooldown. Resolves with how long it lasts, in milliseconds. */
  async #coolDown(admission: Admission, status: number, read: ProviderAnswer): Promise<number> {
    const { durationMs, isLocal, isNew } = await this.#calls.cooldowns.start(this.#subject, {
      admittedAt: admission.at,
      waitMs: read.waitMs,
      maxMs: this.#calls.settings.maxCooldownMs,
      reason: `${this.#request.url.host.slice(0, 150)} answered ${status}`,
      isShadow: admission.decision.shadow,
    });
    if (isNew && cooldownChannel.hasSubscribers) {
      publish(cooldownChannel, {
        ...this.#labels,
        status,
        durationMs,
        isProvidersTime: read.waitMs !== undefined && read.waitMs > 0,
        degraded: isLocal,
      } satisfies Cooldown);
    }
    return durationMs;
  }

  /** What the head of an answer says. */
  readHead(head: AnswerHead): ReadHead {
    return readHead(head, this.#request.url.pathname, this.#calls.settings.dialects);
  }

  get #labels(): Pick<Cooldown, "limiter" | "subject" | "host"> {
    return {
      limiter: this.#limiter.name,
      subject: this.#subject,
      host: this.#request.url.host,
    };
  }
}

/** What an answer says, with its body if that says more than the head. */
async function readWhole(
  { text, status }: Answer,
  { read, needsBody }: ReadHead,
): Promise<ProviderAnswer> {
  const body = needsBody ? await text?.() : undefined;
  return body === undefined ? read : readBody(body, read, status);
}

function elapsed(startedAt: number): number {
  return performance.now() - startedAt;
}
