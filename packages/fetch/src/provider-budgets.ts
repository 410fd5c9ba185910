import type { Cost, Decision, Limiter, LimitState, Subjects } from "@headgate/core";
import { internalsOf } from "@headgate/core/internal";
import type { Budget } from "./dialects/dialect.ts";
import { idOf, remember } from "./recent-subjects.ts";

/** The shortest time between two corrections of a subject in this process, in milliseconds. */
const EVERY_MS = 1_000;

/** Units that count requests: the budget of a limiter's only limit. */
const REQUEST_UNITS: readonly string[] = ["requests", "points"];

/** A limit whose remaining units are to be as few as a provider says. */
interface Correction {
  readonly limit: LimitState;
  readonly remaining: number;
}

/**
 * The limit that a budget describes: the one that is named like its unit or bucket; or else the one of the same size, and of the
 * same window where the budget has one; or else the only limit, for the only budget of requests. Undefined if none fits:
 * units of another budget must not be charged.
 */
function limitOf(
  budget: Budget,
  limits: readonly LimitState[],
  isOnlyBudget: boolean,
): LimitState | undefined {
  const { unit, bucket } = budget;
  const rates = limits.filter(({ windowMs }) => windowMs > 0);
  const byName = rates.find(({ name }) => name === (bucket ?? unit));
  if (byName !== undefined) return byName;
  const isOfRequests = REQUEST_UNITS.includes(unit);
  const bySize = rates.filter(
    ({ limit, windowMs }) =>
      limit === budget.limit && (budget.windowMs === undefined || windowMs === budget.windowMs),
  );
  if (isOfRequests && bySize.length === 1) return bySize[0];
  return isOfRequests && bucket === undefined && isOnlyBudget && rates.length === 1
    ? rates[0]
    : undefined;
}

/**
 * Charges what a provider counts beyond the limiter: requests of other programs with the same credential. Only a lower number of
 * remaining units is taken over, never a higher one, so a budget is not raised.
 */
export class ProviderBudgets {
  readonly #limiter: Limiter;
  /** When each subject was last corrected, in milliseconds of `performance.now()`. */
  readonly #correctedAt = new Map<string, number>();

  constructor(limiter: Limiter) {
    this.#limiter = limiter;
  }

  /**
   * Charges in the background what the answer to a decision's request says, now or, unless `isUrgent`, if the last time is long
   * enough ago. Never throws. Resolves when it is done; undefined if there is nothing to do.
   */
  apply(
    subject: Subjects,
    decision: Decision,
    budgets: readonly Budget[],
    isUrgent: boolean,
  ): Promise<void> | undefined {
    if (decision.shadow || decision.degraded || budgets.length === 0) return undefined;
    const lower = correctionsFor(budgets, decision.limits);
    if (lower.length === 0 || (!this.#isDue(subject) && !isUrgent)) return undefined;
    // The store is unavailable, or the limiter closed: the next answer says it again.
    return this.#correct(subject, decision, budgets).catch(() => {});
  }

  #isDue(subject: Subjects): boolean {
    const id = idOf(subject);
    const now = performance.now();
    if (now - (this.#correctedAt.get(id) ?? Number.NEGATIVE_INFINITY) < EVERY_MS) return false;
    remember(this.#correctedAt, id, now);
    return true;
  }

  /**
   * The decision is older than the answer, and requests were admitted meanwhile, so the present state decides what to charge. Other
   * processes may charge the same at the same time; one that finds fewer units than are to be left gives the rest back.
   */
  async #correct(subject: Subjects, decision: Decision, budgets: readonly Budget[]): Promise<void> {
    const present = await this.#limiter.peek(subject, { cost: 0 });
    if (present.degraded) return;
    for (const { limit, remaining } of correctionsFor(budgets, present.limits)) {
      // What came back here since the decision came back there, too: the answer may be about a window that has ended since.
      const cameBack = limit.remaining - (remainingOf(limit, decision) ?? limit.remaining);
      const left = remaining + Math.max(0, cameBack);
      const units = limit.remaining - left;
      if (units <= 0) continue;
      const cost = costOfLimit(present.limits, limit, units);
      const charged = await this.#charge(subject, cost);
      if (!charged.allowed || charged.degraded) continue;
      const excess = Math.min(units, left - (remainingOf(limit, charged) ?? left));
      if (excess <= 0) continue;
      // The slots of a concurrency limit are released, not settled.
      const rates = present.limits.filter(({ windowMs }) => windowMs > 0);
      const real = units - excess;
      await this.#limiter.settle(
        charged,
        typeof cost === "number" ? real : costByName(rates, limit, real),
      );
    }
  }

  /** Charges units that are no request: usage and metrics do not count the decision, and a denial starts no block. */
  async #charge(subject: Subjects, cost: Cost): Promise<Decision> {
    return internalsOf(this.#limiter).consumeGroups(
      undefined,
      subject,
      { cost },
      undefined,
      "charge",
    );
  }
}

/** What a decision left of a limit; undefined if it was not about that limit. */
function remainingOf({ name, per }: LimitState, { limits }: Decision): number | undefined {
  return limits.find((limit) => limit.name === name && limit.per === per)?.remaining;
}

function correctionsFor(
  budgets: readonly Budget[],
  limits: readonly LimitState[],
): readonly Correction[] {
  return budgets.flatMap((budget) => {
    const isOnly = budgets.filter(({ unit }) => unit === budget.unit).length === 1;
    const limit = limitOf(budget, limits, isOnly);
    return limit !== undefined && limit.remaining > budget.remaining
      ? [{ limit, remaining: budget.remaining }]
      : [];
  });
}

/** A cost of one limit only. By name, unless it is the only one: a limiter with leases takes no cost by name. */
function costOfLimit(limits: readonly LimitState[], limit: LimitState, units: number): Cost {
  return limits.length === 1 ? units : costByName(limits, limit, units);
}

/** The units of one limit, and 0 for the others. */
function costByName(limits: readonly LimitState[], limit: LimitState, units: number): Cost {
  return Object.fromEntries(limits.map(({ name }) => [name, name === limit.name ? units : 0]));
}
