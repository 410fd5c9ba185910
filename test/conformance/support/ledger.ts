import type { Cost, Decision, Limit } from "@headgate/core";
import { definitionOf } from "../oracle/definition.ts";
import type { Admission } from "./admissions.ts";
import { findExcess } from "./admissions.ts";

/** The admissions of a counter between two resets, by their decisions. */
type Generation = Map<Decision, Admission>;

/** The admissions that were not refunded, for each generation of each subject. */
export class Ledger {
  readonly #generations = new Map<string, Generation[]>();
  readonly #chargedBy = new WeakMap<Decision, readonly Generation[]>();

  admit(decision: Decision, subjects: Readonly<Record<string, string>>, at: bigint): void {
    const generations = Object.entries(subjects).map(([per, subject]) =>
      this.#current(per, subject),
    );
    for (const generation of generations)
      generation.set(decision, { at, cost: lowestCost(decision.cost) });
    this.#chargedBy.set(decision, generations);
  }

  /** Reduces an admission to fewer units, or removes it. */
  reduce(decision: Decision, units: number): void {
    for (const generation of this.#chargedBy.get(decision) ?? []) {
      const { at } = generation.get(decision) as Admission;
      if (units === 0) generation.delete(decision);
      else generation.set(decision, { at, cost: units });
    }
  }

  /** Starts another generation of the given subjects. */
  reset(subjects: Readonly<Record<string, string>>): void {
    for (const [per, subject] of Object.entries(subjects)) {
      this.#current(per, subject);
      this.#generations.get(idOf(per, subject))?.push(new Map());
    }
  }

  /** Whether each counter that a decision charged has been reset since. */
  wasReset(decision: Decision): boolean {
    const current = new Set([...this.#generations.values()].map((each) => each.at(-1)));
    return (this.#chargedBy.get(decision) ?? []).every((generation) => !current.has(generation));
  }

  /** Describes the first excess over the guarantee of a limit, in any generation of any subject. */
  findExcess(limit: Limit, extra: { readonly units: bigint; readonly budgets: bigint }) {
    const { per = "default" } = limit;
    const more = extra.units + extra.budgets * definitionOf(limit).capacity;
    for (const [id, generations] of this.#generations) {
      if (!id.startsWith(`${per}:`)) continue;
      for (const generation of generations) {
        const excess = findExcess(limit, [...generation.values()], more);
        if (excess !== undefined) return `${id}: ${excess}`;
      }
    }
    return undefined;
  }

  #current(per: string, subject: string): Generation {
    const id = idOf(per, subject);
    const generations = this.#generations.get(id) ?? [new Map()];
    this.#generations.set(id, generations);
    return generations.at(-1) as Generation;
  }
}

function idOf(per: string, subject: string): string {
  return `${per}:${subject}`;
}

/** The lowest cost of a limit: each limit was charged at least this. */
export function lowestCost(cost: Cost): number {
  return typeof cost === "number" ? cost : Math.min(...Object.values(cost));
}
