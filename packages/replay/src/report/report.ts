import type { Markup } from "./markup.ts";

/** A drawn report, for a file of its own and for the dashboard. */
export interface Report {
  /** The title, without HTML elements. */
  readonly title: Markup;
  readonly content: Markup;
}
