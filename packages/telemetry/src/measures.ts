import type { Output } from "./output.ts";
import type { SeriesBudget } from "./series-budget.ts";

/** What all that measures has. */
export interface Measures {
  readonly output: Output;
  readonly budget: SeriesBudget;
}
