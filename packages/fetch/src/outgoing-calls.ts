import type { Cost, Decision, Limiter, Subjects } from "@headgate/core";
import { emitWarning, formatReceived } from "@headgate/core/internal";
import { Cooldowns } from "./cooldowns.ts";
import type { OutgoingRequest } from "./fetch-options.ts";
import type { SharedByCalls } from "./outgoing-call.ts";
import { OutgoingCall } from "./outgoing-call.ts";
import { ProviderBudgets } from "./provider-budgets.ts";
import type { OutgoingSettings } from "./read-options.ts";

/** The most headers of origins that are remembered as reported. */
const MAX_REPORTED = 1_000;

/** What a process knows of the providers behind a limiter, however many functions send with it. */
interface SharedByLimiter {
  readonly cooldowns: Cooldowns;
  readonly budgets: ProviderBudgets;
}

const knownByLimiter = new WeakMap<Limiter, SharedByLimiter>();

function shareByLimiter(limiter: Limiter): SharedByLimiter {
  const known = knownByLimiter.get(limiter) ?? {
    cooldowns: new Cooldowns(limiter),
    budgets: new ProviderBudgets(limiter),
  };
  knownByLimiter.set(limiter, known);
  return known;
}

/** The calls through one `limitFetch` or interceptor. */
export class OutgoingCalls implements SharedByCalls {
  readonly settings: OutgoingSettings;
  readonly cooldowns: Cooldowns;
  readonly budgets: ProviderBudgets;
  readonly #reported = new Set<string>();
  #hasReportedSettle = false;

  constructor(settings: OutgoingSettings) {
    this.settings = settings;
    const { cooldowns, budgets } = shareByLimiter(settings.limiter);
    this.cooldowns = cooldowns;
    this.budgets = budgets;
  }

  /** Rejects with the errors of the application's functions. */
  async begin(request: OutgoingRequest, defaultKey: string): Promise<OutgoingCall> {
    const { key, cost, globalSubject } = this.settings;
    const given = globalSubject ?? (key === undefined ? defaultKey : await key(request));
    const units = typeof cost === "function" ? await cost(request) : cost;
    // The limiter refuses other numbers: NaN must not become the subject of all calls.
    const subject = Number.isSafeInteger(given) ? String(given) : (given as Subjects);
    return new OutgoingCall(this, request, subject, units);
  }

  /** Settles a decision in the background at the units that a function of the application returns. */
  settle(decision: Decision, readUnits: () => Cost | undefined | Promise<Cost | undefined>): void {
    const settled = async (): Promise<void> => {
      const units = await readUnits();
      if (units !== undefined) await this.settings.limiter.settle(decision, units);
    };
    void settled().catch((error) => {
      if (this.#hasReportedSettle) return;
      this.#hasReportedSettle = true;
      emitWarning(
        "HEADGATE_SETTLE_FAILED",
        `the real cost of a call through the limiter "${this.settings.limiter.name}" could not be settled, and its estimate stays charged; further failures are not reported`,
        error instanceof Error ? String(error) : formatReceived(error),
      );
    });
  }

  /** Reports each unreadable header of an origin once. */
  report({ host }: URL, unreadable: readonly string[]): void {
    for (const name of unreadable) {
      const id = `${host} ${name}`;
      if (this.#reported.has(id) || this.#reported.size >= MAX_REPORTED) continue;
      this.#reported.add(id);
      emitWarning(
        "HEADGATE_HEADER_IGNORED",
        `the header ${name} of ${host} has a value that cannot be read; it is ignored, and not reported again`,
      );
    }
  }
}
