import { useEffect, useState } from "preact/hooks";
import type { SubjectLookup } from "../../src/api.ts";
import type { Span } from "../../src/counts.ts";
import { SPANS } from "../../src/counts.ts";

/** The views, by the names that they have in the URL. */
const VIEWS = [
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

/** The span in a route; undefined if it names none. */
export function givenSpanOf({ params }: Route): Span | undefined {
  return SPANS.find((span) => span === params["span"]);
}

/** The span in a route; an hour by default. */
export function spanOf(route: Route): Span {
  return givenSpanOf(route) ?? "1h";
}

/** The current location, from the URL. */
export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const follow = (): void => setHash(location.hash);
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return parseRoute(hash);
}

/** Changes the URL without a new entry in the history, for typed text. */
export function replaceHash(hash: string): void {
  history.replaceState(null, "", hash);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/** An IPv4 address, or text that can only be an IPv6 address. */
const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|(?=.*:.*:)[\da-f:.]+(?:%\w+)?)$/i;

/** The most likely kind of a subject. */
export function kindOf(subject: string): "text" | "address" {
  return ADDRESS.test(subject.trim()) ? "address" : "text";
}

type Params = Readonly<Record<string, string | undefined>>;

/** The lookup in a URL; undefined if there is none. A header's value is never in a URL. */
export function lookupFromParams(params: Params): SubjectLookup | undefined {
  const { subject, kind, limiter } = params as Record<
    "subject" | "kind" | "limiter",
    string | undefined
  >;
  if (subject === undefined || subject === "" || kind === "header") return undefined;
  const known = kind === "text" || kind === "address" ? kind : kindOf(subject);
  return { subject, kind: known, ...(limiter ? { limiter } : {}) };
}

/** The parts of a lookup that may be in the URL. */
export function paramsOfLookup({ subject, kind, header, limiter }: SubjectLookup): Params {
  if (kind === "header") return { kind, header, limiter };
  return { subject, kind: kind === kindOf(subject) ? undefined : kind, limiter };
}
