import { groupBy } from "../common/group-by.ts";
import type { ControlRecord, Override } from "./record.ts";
import { lasts } from "./record.ts";

/** The subject of a request in a dimension; undefined if it has none. */
export type SubjectIn = (dimension: string) => string | undefined;

/** Overrides that name the same dimensions. */
interface Level {
  readonly dimensions: readonly string[];
  /** By the subjects they name, in the order of the dimensions. */
  readonly bySubjects: ReadonlyMap<string, Override>;
}

/**
 * The overrides of one limiter. A request is looked up once for each set of dimensions in which overrides name its subject,
 * however many overrides there are.
 */
export class OverridesInForce {
  /** Those with fewer dimensions first. */
  readonly #levels: readonly Level[];
  /** The subjects named by any override, by dimension. */
  readonly #named = new Map<string, Set<string>>();

  /** Of two overrides for the same subject, the later one wins. */
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
   * The overrides in force for a request at a time of the server's clock, in microseconds: first the one for all subjects, then
   * those for its own subject, which take precedence. A process applies an override as soon as it has read it; `from` is when
   * every process does.
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

/** The subjects as one text; for a missing dimension, a text that matches no override. */
function idOf(dimensions: readonly string[], subjectIn: SubjectIn): string {
  return JSON.stringify(dimensions.map((dimension) => subjectIn(dimension) ?? null));
}

/** Sorted once for each record, whichever limiter asks. */
const sorted = new WeakMap<ControlRecord, ReadonlyMap<string, OverridesInForce>>();

/** The overrides of a limiter in a record; undefined if there are none. */
export function overridesIn(record: ControlRecord, limiter: string): OverridesInForce | undefined {
  const known = sorted.get(record) ?? sortByLimiter(record);
  sorted.set(record, known);
  return known.get(limiter);
}

/**
 * The overrides in force for a subject of a limiter, at a time of the server's clock in milliseconds. The last one takes precedence.
 */
export function overridesFor(
  record: ControlRecord,
  limiter: string,
  subject: Readonly<Record<string, string>>,
  at: number,
): readonly Override[] {
  return overridesIn(record, limiter)?.of((dimension) => subject[dimension], at * 1_000) ?? [];
}

function sortByLimiter({ overrides }: ControlRecord): ReadonlyMap<string, OverridesInForce> {
  const byLimiter = groupBy(overrides, ({ limiter }) => limiter);
  return new Map([...byLimiter].map(([limiter, own]) => [limiter, new OverridesInForce(own)]));
}
