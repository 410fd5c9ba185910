/** How many values of a label a process reports separately. */
const MAX_VALUES = 200;

/** The most series in a process. */
const MAX_SERIES = 5_000;

/** The series that are reserved for `other`. */
const RESERVED_SERIES = 150;

/** Limits the series of one process, for any number of names. */
export class SeriesBudget {
  readonly #values = new Map<string, Set<string>>();
  #left = MAX_SERIES - RESERVED_SERIES;

  /** Takes room for these label values and their series; returns whether there was room. */
  take(labels: Readonly<Record<string, string>>, series: number): boolean {
    const isKnown = Object.entries(labels).every(([label, value]) => this.#hasRoom(label, value));
    if (!isKnown || series > this.#left) return false;
    this.#left -= series;
    for (const [label, value] of Object.entries(labels)) this.#valuesOf(label).add(value);
    return true;
  }

  #hasRoom(label: string, value: string): boolean {
    const values = this.#valuesOf(label);
    return values.has(value) || values.size < MAX_VALUES;
  }

  #valuesOf(label: string): Set<string> {
    const known = this.#values.get(label) ?? new Set();
    this.#values.set(label, known);
    return known;
  }
}
