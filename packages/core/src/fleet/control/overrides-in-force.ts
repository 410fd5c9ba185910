import type { ControlRecord, Override } from "./record.ts";
import { lasts } from "./record.ts";

/** The subject of a request in a dimension; undefined where it has none. */
export type SubjectIn = (dimension: string) => string | undefined;

/** Overrides that name the same dimensions. */
interface Level {
  readonly dimensions: readonly string[];
  /** By the subjects they name, in the order of the dimensions. */
  readonly bySubjects: ReadonlyMap<string, Override>;
}

/**
 * The overrides of one limiter. A request is looked up once for each set of dimensions that they name and in all of which they name
 * its subject, however many subjects there are.
 */
export class OverridesInForce {
  /** Those that name fewer dimensions first. */
  readonly #levels: readonly Level[];
  /** The subjects that any of them names, by dimension. */
  readonly #named = new Map<string, Set<string>>();

  /** Of two overrides for the same subject, the later one counts. */
  constructor(overrides: readonly Override[]) {
    const levels = new Map<string, { dimensions: string[]; bySubjects: Map<string, Override> }>();
    for (const override of overrides) {
      const { subject = {} } = override;
      const dimensions = Object.keys(subject).sort();
      for (const dimension of dimensions) this.#name(dimension, subject[dimension] as string);
      const id = JSON.stringify(dimensions);
      const level = levels.get(id) ?? { dimensions, bySubjects: new Map() };
      levels.set(id, level);
      level.bySubjects.set(
        idOf(dimensions, (dimension) => subject[dimension]),
        override,
      );
    }
    this.#levels = [...levels.values()].sort((a, b) => a.dimensions.length - b.dimensions.length);
  }

  /**
   * Those in force for a request at a moment of the server's clock, in microseconds: first the one for all subjects, then those for
   * its own, which go before it. An override is in force from when a process knows it: `from` is when all do.
   */
  of(subjectIn: SubjectIn, now: number): readonly Override[] {
    const found: Override[] = [];
    const own = new Map<string, string>();
    for (const [dimension, subjects] of this.#named) {
      const subject = subjectIn(dimension);
      if (subject !== undefined && subjects.has(subject)) own.set(dimension, subject);
    }
    for (const { dimensions, bySubjects } of this.#levels) {
      if (!dimensions.every((dimension) => own.has(dimension))) continue;
      const override = bySubjects.get(idOf(dimensions, (dimension) => own.get(dimension)));
      if (override !== undefined && lasts(override, now)) found.push(override);
    }
    return found;
  }

  #name(dimension: string, subject: string): void {
    const known = this.#named.get(dimension) ?? new Set();
    this.#named.set(dimension, known.add(subject));
  }
}

/** Subjects as a text of their own; of a dimension that lacks one, none that an override names. */
function idOf(dimensions: readonly string[], subjectIn: SubjectIn): string {
  return JSON.stringify(dimensions.map((dimension) => subjectIn(dimension) ?? null));
}

/** Sorted once for each record, whichever limiters ask. */
const sorted = new WeakMap<ControlRecord, ReadonlyMap<string, OverridesInForce>>();

/** What a record overrides of a limiter; undefined where it names it nowhere. */
export function overridesIn(record: ControlRecord, limiter: string): OverridesInForce | undefined {
  const known = sorted.get(record) ?? sortByLimiter(record);
  sorted.set(record, known);
  return known.get(limiter);
}

function sortByLimiter({ overrides }: ControlRecord): ReadonlyMap<string, OverridesInForce> {
  const byLimiter = new Map<string, Override[]>();
  for (const override of overrides) {
    const own = byLimiter.get(override.limiter) ?? [];
    byLimiter.set(override.limiter, own);
    own.push(override);
  }
  return new Map([...byLimiter].map(([limiter, own]) => [limiter, new OverridesInForce(own)]));
}
