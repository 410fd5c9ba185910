import type { Cost, Decision, Limit } from "@headgate/core";
import { definitionOf } from "../oracle/definition.ts";
import type { Admission } from "./admissions.ts";
import { findExcess } from "./admissions.ts";

/** What was admitted of a counter since it was reset, by the decisions that admitted it. */
type Generation = Map<Decision, Admission>;

/** What was admitted and not given back, for each subject of each dimension, in each of its lives. */
export class Ledger {
  readonly #lives = new Map<string, Generation[]>();
  readonly #homes = new WeakMap<Decision, readonly Generation[]>();

  admit(decision: Decision, subjects: Readonly<Record<string, string>>, at: bigint): void {
    const homes = Object.entries(subjects).map(([per, subject]) => this.#present(per, subject));
    for (const life of homes) life.set(decision, { at, cost: lowestCost(decision.cost) });
    this.#homes.set(decision, homes);
  }

  /** Makes an admission one of fewer units, or none. */
  reduce(decision: Decision, units: number): void {
    for (const life of this.#homes.get(decision) ?? []) {
      const { at } = life.get(decision) as Admission;
      if (units === 0) life.delete(decision);
      else life.set(decision, { at, cost: units });
    }
  }

  /** Begins another life of each subject named. */
  reset(subjects: Readonly<Record<string, string>>): void {
    for (const [per, subject] of Object.entries(subjects)) {
      this.#present(per, subject);
      this.#lives.get(idOf(per, subject))?.push(new Map());
    }
  }

  /** Whether every counter that was charged for a decision was reset since. */
  wasReset(decision: Decision): boolean {
    const present = new Set([...this.#lives.values()].map((lives) => lives.at(-1)));
    return (this.#homes.get(decision) ?? []).every((life) => !present.has(life));
  }

  /** What was admitted over the guarantee of a limit, to any subject in any of its lives, in words. */
  findExcess(limit: Limit, extra: { readonly units: bigint; readonly budgets: bigint }) {
    const { per = "default" } = limit;
    const more = extra.units + extra.budgets * definitionOf(limit).capacity;
    for (const [id, lives] of this.#lives) {
      if (!id.startsWith(`${per}:`)) continue;
      for (const life of lives) {
        const excess = findExcess(limit, [...life.values()], more);
        if (excess !== undefined) return `${id}: ${excess}`;
      }
    }
    return undefined;
  }

  #present(per: string, subject: string): Generation {
    const id = idOf(per, subject);
    const lives = this.#lives.get(id) ?? [new Map()];
    this.#lives.set(id, lives);
    return lives.at(-1) as Generation;
  }
}

function idOf(per: string, subject: string): string {
  return `${per}:${subject}`;
}

/** Every limit was charged as much at least. */
export function lowestCost(cost: Cost): number {
  return typeof cost === "number" ? cost : Math.min(...Object.values(cost));
}
