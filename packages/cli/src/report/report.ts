import type { Markup } from "./markup.ts";

/** A report, drawn: the same in a file of its own and in the dashboard. */
export interface Report {
  /** Without elements. */
  readonly title: Markup;
  readonly content: Markup;
}
