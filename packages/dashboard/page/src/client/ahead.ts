import type { Overview } from "../../../src/api.ts";
import type { Route } from "../route.ts";
import { spanOf } from "../route.ts";
import type { Source } from "./source.ts";

let asked: { readonly key: string; readonly answer: Promise<Overview> } | undefined;

/** Asks for the overview before the session has been answered, if the page begins with it: a slow machine shows it sooner. */
export function askAhead(source: Source, route: Route): void {
  if (route.view !== "overview") return;
  const span = spanOf(route);
  const answer = source.overview(span, new AbortController().signal);
  // Whoever takes it sees the failure.
  answer.catch(() => {});
  asked = { key: `overview ${span}`, answer };
}

/** The answer that was asked for ahead, once; undefined if it is of another view. */
export function takeAhead(key: string): Promise<unknown> | undefined {
  const answer = asked?.key === key ? asked.answer : undefined;
  asked = undefined;
  return answer;
}
