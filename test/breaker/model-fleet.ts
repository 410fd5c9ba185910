import type { Breaker, Outcome, Permit } from "@headgate/breaker";
import { claim } from "../conformance/claim.ts";
import type { MicroClock } from "../conformance/micro-clock.ts";
import type { Rules } from "./model-rules.ts";
import type { ModelView } from "./model-target.ts";
import { ModelTarget } from "./model-target.ts";
import type { ByHand, ModelPermit } from "./model-written.ts";
import type { Called } from "./oracle-window.ts";

/** When to ask again after a ramp refused, at the latest. */
const RAMP_RETRY_MS = 1_000;

/** A call that some process of the fleet was allowed. */
export interface Admitted {
  readonly permit: Permit;
  readonly model: ModelPermit;
}

/** How a call ended. */
export interface Ended {
  readonly outcome: Outcome;
  readonly durationMs: number | undefined;
}

/**
 * Processes that share a target, each with a breaker of its own, and the model of that target. Each command is given to one
 * of them and to the model, and then both must say the same.
 */
export class ModelFleet {
  readonly model: ModelTarget;
  readonly #breakers: readonly Breaker[];
  readonly #rules: Rules;
  readonly #time: MicroClock;
  readonly #said: string[] = [];

  constructor(breakers: readonly Breaker[], rules: Rules, time: MicroClock) {
    this.model = new ModelTarget(rules);
    this.#breakers = breakers;
    this.#rules = rules;
    this.#time = time;
  }

  get size(): number {
    return this.#breakers.length;
  }

  async admit(process: number): Promise<Admitted | undefined> {
    const { now } = this.#time;
    const ramped = this.model.share(now) < 1;
    const model = this.model.admit(now);
    const view = this.model.look(now);
    const permit = await this.#of(process).admit();
    this.#say(process, `admit ${permit.allowed}`);
    const explain = () => this.#explain(permit, { ...view, allowed: model !== undefined, ramped });
    claim(permit.state === view.state && !permit.degraded, explain);
    claim(permit.allowed === (model !== undefined) || ramped, explain);
    if (ramped && !permit.allowed) {
      claim(permit.retryAfterMs > 0 && permit.retryAfterMs <= RAMP_RETRY_MS, explain);
    } else {
      claim(permit.retryAfterMs === retryAfter(view, permit.allowed), explain);
    }
    await this.look(process);
    return permit.allowed && model !== undefined ? { permit, model } : undefined;
  }

  /** Tells how a call ended, of which the breaker was not asked. */
  async record(process: number, ended: Ended): Promise<void> {
    this.#say(process, `record ${ended.outcome} ${ended.durationMs}`);
    this.model.record(undefined, this.#called(ended), this.#time.now);
    await this.#of(process).record(ended.outcome, ended.durationMs);
    await this.look(process);
  }

  async end(process: number, { permit, model }: Admitted, ended: Ended): Promise<void> {
    if (!this.model.isClear(model, this.#time.now)) {
      await this.look(process);
      return;
    }
    this.#say(process, `end ${JSON.stringify(model)} ${ended.outcome} ${ended.durationMs}`);
    this.model.record(model, this.#called(ended), this.#time.now);
    await permit.record(ended.outcome, ended.durationMs);
    // Once told is told.
    await permit.record("failure", Number.MAX_VALUE);
    await this.look(process);
  }

  async release(process: number, { permit, model }: Admitted): Promise<void> {
    this.#say(process, `release ${JSON.stringify(model)}`);
    this.model.release(model, this.#time.now);
    await permit.release();
    await this.look(process);
  }

  async set(process: number, kind: ByHand): Promise<void> {
    this.#say(process, kind);
    this.model.set(kind, this.#time.now);
    const breaker = this.#of(process);
    if (kind === "forced-open") await breaker.forceOpen();
    else if (kind === "disabled") await breaker.disable();
    else await breaker.metricsOnly();
    await this.lookAll();
  }

  async reset(process: number): Promise<void> {
    this.#say(process, "reset");
    this.model.reset(this.#time.now);
    await this.#of(process).reset();
    await this.lookAll();
  }

  /** A process learns how the target is doing, and of a view of its own in the background it sees the end. */
  async look(process: number): Promise<ModelView> {
    const view = this.model.look(this.#time.now);
    const snapshot = await this.#of(process).snapshot();
    const { calls, failures, slow, opened, state } = view;
    const same =
      snapshot.state === state &&
      snapshot.calls === calls &&
      snapshot.failures === failures &&
      snapshot.successes === calls - failures &&
      snapshot.slow === slow &&
      snapshot.opened === opened &&
      snapshot.retryAfterMs === (state === "open" ? retryAfter(view, false) : 0) &&
      !snapshot.degraded;
    claim(same, () => this.#explain(snapshot, view));
    return view;
  }

  /** An open breaker answers by itself for a second: what was done by hand, or to the clock, is shown to everybody. */
  async lookAll(): Promise<void> {
    for (let process = 0; process < this.size; process++) await this.look(process);
  }

  #of(process: number): Breaker {
    return this.#breakers[process] as Breaker;
  }

  #called({ outcome, durationMs }: Ended): Called {
    const { slowCallMs } = this.#rules;
    const slow = slowCallMs !== undefined && durationMs !== undefined && durationMs > slowCallMs;
    return { failed: outcome === "failure", slow };
  }

  #say(process: number, what: string): void {
    this.#said.push(`${this.#time.now} ${process}: ${what}`);
  }

  #explain(actual: unknown, expected: unknown): string {
    const show = (value: unknown) =>
      JSON.stringify(value, (_, part) => (typeof part === "bigint" ? String(part) : part));
    return [
      `actual ${show(actual)}`,
      `expected ${show(expected)}`,
      ...this.#said.slice(-30),
      `now ${this.#time.now}`,
    ].join("\n");
  }
}

/** Milliseconds, rounded up, of what the model waits for. */
function retryAfter({ state, wait }: ModelView, allowed: boolean): number {
  if (allowed) return 0;
  if (state === "forced-open") return Number.POSITIVE_INFINITY;
  return Number(((wait ?? 0n) + 999n) / 1_000n);
}
