import type { Span } from "../../src/counts.ts";
import { SPANS } from "../../src/counts.ts";

/** The views, by the names that they have in the URL. */
export const VIEWS = [
  "overview",
  "limiter",
  "subject",
  "breakers",
  "control",
  "log",
  "redis",
  "report",
] as const;

export type View = (typeof VIEWS)[number];

/** A view and its parameters, from the URL. */
export interface Route {
  readonly view: View;
  readonly params: Readonly<Record<string, string>>;
}

/** Reads `#/limiter?name=login&span=24h`. An unknown view is the overview. */
export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = split(hash.replace(/^#?\/?/, ""));
  const view = VIEWS.find((one) => one === path) ?? "overview";
  return { view, params: Object.fromEntries(new URLSearchParams(query)) };
}

function split(text: string): readonly string[] {
  const at = text.indexOf("?");
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/** Writes the hash of a route, without empty or missing parameters. */
export function hrefOf(
  view: View,
  params: Readonly<Record<string, string | undefined>> = {},
): string {
  const given = Object.entries(params).filter(([, value]) => value !== undefined && value !== "");
  const query = new URLSearchParams(given as [string, string][]).toString();
  return `#/${view === "overview" ? "" : view}${query === "" ? "" : `?${query}`}`;
}

/** The span in a route; an hour by default. */
export function spanOf({ params }: Route): Span {
  return SPANS.find((span) => span === params["span"]) ?? "1h";
}
