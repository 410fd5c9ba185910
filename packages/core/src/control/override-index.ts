import { groupBy } from "../common/group-by.ts";
import type { ControlRecord, Override } from "./record.ts";
import { isActive } from "./record.ts";

/** The subject of a request in a dimension; undefined if it has none. */
export type SubjectLookup = (dimension: string) => string | undefined;

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
export class OverrideIndex {
  /** Levels with fewer dimensions come first. */
  readonly #levels: readonly Level[];
  /** The subjects named by any override, by dimension. */
  readonly #subjects = new Map<string, Set<string>>();

  /** Of two overrides for the same subject, the later one wins. */
  constructor(overrides: readonly Override[]) {
    const levels = new Map<string, { dimensions: string[]; bySubjects: Map<string, Override> }>();
    for (const override of overrides) {
      const { subject = {} } = override;
      const dimensions = Object.keys(subject).sort();
      for (const dimension of dimensions) this.#addSubject(dimension, subject[dimension] as string);
      const id = JSON.stringify(dimensions);
      const level = levels.get(id) ?? { dimensions, bySubjects: new Map() };
      levels.set(id, level);
      level.bySubjects.set(
        formatSubjects(dimensions, (dimension) => subject[dimension]),
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
  find(subjectIn: SubjectLookup, now: number): readonly Override[] {
    const found: Override[] = [];
    const own = new Map<string, string>();
    for (const [dimension, subjects] of this.#subjects) {
      const subject = subjectIn(dimension);
      if (subject !== undefined && subjects.has(subject)) own.set(dimension, subject);
    }
    for (const { dimensions, bySubjects } of this.#levels) {
      if (!dimensions.every((dimension) => own.has(dimension))) continue;
      const override = bySubjects.get(
        formatSubjects(dimensions, (dimension) => own.get(dimension)),
      );
      if (override !== undefined && isActive(override, now)) found.push(override);
    }
    return found;
  }

  #addSubject(dimension: string, subject: string): void {
    const known = this.#subjects.get(dimension) ?? new Set();
    this.#subjects.set(dimension, known.add(subject));
  }
}

/** The subjects as one text; for a missing dimension, a text that matches no override. */
function formatSubjects(dimensions: readonly string[], subjectIn: SubjectLookup): string {
  return JSON.stringify(dimensions.map((dimension) => subjectIn(dimension) ?? null));
}

/** Each record is indexed once, for all limiters. */
const indexes = new WeakMap<ControlRecord, ReadonlyMap<string, OverrideIndex>>();

/** The overrides of a limiter in a record; undefined if there are none. */
export function overrideIndexOf(record: ControlRecord, limiter: string): OverrideIndex | undefined {
  const known = indexes.get(record) ?? indexByLimiter(record);
  indexes.set(record, known);
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
  return (
    overrideIndexOf(record, limiter)?.find((dimension) => subject[dimension], at * 1_000) ?? []
  );
}

function indexByLimiter({ overrides }: ControlRecord): ReadonlyMap<string, OverrideIndex> {
  const byLimiter = groupBy(overrides, ({ limiter }) => limiter);
  return new Map([...byLimiter].map(([limiter, own]) => [limiter, new OverrideIndex(own)]));
}
