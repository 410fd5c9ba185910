import type { Breaker, Outcome, Permit } from "@headgate/breaker";
import { claim } from "../conformance/support/claim.ts";
import type { MicroClock } from "../conformance/support/micro-clock.ts";
import type { ByHand, ModelPermit } from "./model-record.ts";
import type { Rules } from "./model-rules.ts";
import type { ModelView } from "./model-target.ts";
import { ModelTarget } from "./model-target.ts";
import type { Called } from "./oracle-window.ts";

/** The longest `retryAfterMs` of a ramp, and of a target without a free trial slot. */
const SOON_MS = 1_000;

/** A process of a fleet, and its rules. */
export interface Process {
  readonly breaker: Breaker;
  readonly rules: Rules;
}

/** A call that some process of the fleet was allowed. */
export interface Admitted {
  readonly permit: Permit;
  readonly model: ModelPermit;
  /** Which process it was. */
  readonly process: number;
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
  readonly #model = new ModelTarget();
  readonly #processes: readonly Process[];
  readonly #time: MicroClock;
  readonly #log: string[] = [];
  /** The process of the last request; a request with other rules may change the state. */
  #last = 0;

  constructor(processes: readonly Process[], time: MicroClock) {
    this.#processes = processes;
    this.#time = time;
  }

  get size(): number {
    return this.#processes.length;
  }

  rulesOf(process: number): Rules {
    return (this.#processes[process] as Process).rules;
  }

  /** The state of the target by the rules of the last request's process. */
  peek(): ModelView {
    return this.#model.look(this.rulesOf(this.#last), this.#time.now);
  }

  /** Microseconds until something changes. */
  moments(): bigint[] {
    return this.#model.moments(this.rulesOf(this.#last), this.#time.now);
  }

  async admit(process: number): Promise<Admitted | undefined> {
    const { now } = this.#time;
    const rules = this.rulesOf(process);
    const ramped = this.#model.isRamped(rules, now);
    const model = this.#model.admit(rules, now);
    const view = this.#model.look(rules, now);
    const permit = await this.#of(process).admit();
    this.#say(process, `admit ${permit.allowed}`);
    const explain = () => this.#explain(permit, { ...view, allowed: model !== undefined, ramped });
    claim(permit.state === view.state && !permit.degraded, explain);
    claim(permit.allowed === (model !== undefined) || ramped, explain);
    if (ramped && !permit.allowed) {
      claim(permit.retryAfterMs > 0 && permit.retryAfterMs <= SOON_MS, explain);
    } else {
      claim(permit.retryAfterMs === retryAfter(view, permit.allowed), explain);
    }
    await this.look(process);
    return permit.allowed && model !== undefined ? { permit, model, process } : undefined;
  }

  /** Records the outcome of a call that was made without a permit. */
  async record(process: number, ended: Ended): Promise<void> {
    const rules = this.rulesOf(process);
    this.#say(process, `record ${ended.outcome} ${ended.durationMs}`);
    this.#model.record(rules, undefined, called(rules, ended), this.#time.now);
    await this.#of(process).record(ended.outcome, ended.durationMs);
    await this.look(process);
  }

  async end({ permit, model, process }: Admitted, ended: Ended): Promise<void> {
    if (!this.#model.isClear(this.rulesOf(process), model, this.#time.now)) {
      await this.look(process);
      return;
    }
    const rules = this.rulesOf(process);
    this.#say(process, `end ${JSON.stringify(model)} ${ended.outcome} ${ended.durationMs}`);
    this.#model.record(rules, model, called(rules, ended), this.#time.now);
    await permit.record(ended.outcome, ended.durationMs);
    // Only the first report counts.
    await permit.record("failure", Number.MAX_VALUE);
    await this.look(process);
  }

  async release({ permit, model, process }: Admitted): Promise<void> {
    this.#say(process, `release ${JSON.stringify(model)}`);
    this.#model.release(this.rulesOf(process), model, this.#time.now);
    await permit.release();
    await this.look(process);
  }

  async set(process: number, kind: ByHand): Promise<void> {
    this.#say(process, kind);
    this.#model.set(kind, this.#time.now);
    const breaker = this.#of(process);
    if (kind === "forced-open") await breaker.forceOpen();
    else if (kind === "disabled") await breaker.disable();
    else await breaker.metricsOnly();
    await this.lookAll();
  }

  async reset(process: number): Promise<void> {
    this.#say(process, "reset");
    this.#model.reset(this.#time.now);
    await this.#of(process).reset();
    await this.lookAll();
  }

  /** A process learns how the target is doing, and of a view of its own in the background it sees the end. */
  async look(process: number): Promise<ModelView> {
    this.#last = process;
    const view = this.peek();
    const snapshot = await this.#of(process).snapshot();
    const { calls, failures, slow, opened, state } = view;
    const same =
      snapshot.state === state &&
      snapshot.calls === calls &&
      snapshot.failures === failures &&
      snapshot.successes === calls - failures &&
      snapshot.slowCalls === slow &&
      snapshot.openings === opened &&
      snapshot.retryAfterMs === (state === "open" ? retryAfter(view, false) : 0) &&
      !snapshot.degraded;
    claim(same, () => this.#explain(snapshot, view));
    return view;
  }

  /** Reads the state in every process, because an open breaker uses its view for a second, even after a manual change or a clock step. */
  async lookAll(): Promise<void> {
    for (let process = 0; process < this.size; process++) await this.look(process);
  }

  #of(process: number): Breaker {
    return (this.#processes[process] as Process).breaker;
  }

  #say(process: number, what: string): void {
    this.#log.push(`${this.#time.now} ${process}: ${what}`);
  }

  #explain(actual: unknown, expected: unknown): string {
    const show = (value: unknown) =>
      JSON.stringify(value, (_, part) => (typeof part === "bigint" ? String(part) : part));
    return [
      `actual ${show(actual)}`,
      `expected ${show(expected)}`,
      ...this.#log.slice(-30),
      `now ${this.#time.now}`,
    ].join("\n");
  }
}

function called({ slowCallMs }: Rules, { outcome, durationMs }: Ended): Called {
  const slow = slowCallMs !== undefined && durationMs !== undefined && durationMs > slowCallMs;
  return { failed: outcome === "failure", slow };
}

/** Milliseconds, rounded up, of what the model waits for. */
function retryAfter({ state, wait }: ModelView, allowed: boolean): number {
  if (allowed) return 0;
  if (state === "forced-open") return Number.POSITIVE_INFINITY;
  const waitMs = Number(((wait ?? 0n) + 999n) / 1_000n);
  return state === "half-open" ? Math.min(waitMs, SOON_MS) : waitMs;
}
