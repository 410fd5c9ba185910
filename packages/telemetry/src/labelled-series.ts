import type { Labels, SeriesBudget } from "./output.ts";

/** The label value used once there is no room for more. */
export const OTHER = "other";

interface LabelledSeriesOptions<T> {
  /** The first label, and an optional second one. */
  readonly names: readonly [first: string, second?: string];
  /** How many series each item has. */
  readonly series: number;
  readonly budget: SeriesBudget;
  make(labels: Labels): T;
}

/** The items for each value of a label, or of two, within a budget: the rest share the item for `other`. */
export class LabelledSeries<T> {
  readonly #options: LabelledSeriesOptions<T>;
  readonly #kept = new Map<string, Map<string | undefined, T>>();

  constructor(options: LabelledSeriesOptions<T>) {
    this.#options = options;
  }

  of(first: string, second?: string): T {
    return this.#kept.get(first)?.get(second) ?? this.#find(first, second);
  }

  /** Without room, the second value is replaced by `other`, then the first. */
  #find(first: string, second: string | undefined): T {
    const isOther = first === OTHER && (second === undefined || second === OTHER);
    if (isOther || this.#hasRoom(first, second)) return this.#keep(first, second);
    const isNarrow = second === undefined || second === OTHER;
    return isNarrow ? this.of(OTHER, second && OTHER) : this.of(first, OTHER);
  }

  #hasRoom(first: string, second: string | undefined): boolean {
    const { budget, series } = this.#options;
    const named = Object.entries(this.#labelsOf(first, second)).filter(
      ([, value]) => value !== OTHER,
    );
    return budget.take(Object.fromEntries(named), series);
  }

  #keep(first: string, second: string | undefined): T {
    const made = this.#options.make(this.#labelsOf(first, second));
    const seconds = this.#kept.get(first) ?? new Map<string | undefined, T>();
    this.#kept.set(first, seconds.set(second, made));
    return made;
  }

  #labelsOf(first: string, second: string | undefined): Labels {
    const [name, nameOfSecond = ""] = this.#options.names;
    return second === undefined ? { [name]: first } : { [name]: first, [nameOfSecond]: second };
  }
}
