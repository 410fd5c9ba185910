import type { Overview } from "../../../src/api.ts";
import type { Route } from "../route.ts";
import { spanOf } from "../route.ts";
import type { Source } from "./source.ts";

let asked: { readonly key: string; readonly answer: Promise<Overview> } | undefined;

/** Requests the overview before the session is answered, if the page opens with it: a slow machine shows it sooner. */
export function prefetch(source: Source, route: Route): void {
  if (route.view !== "overview") return;
  const span = spanOf(route);
  const answer = source.overview(span, new AbortController().signal);
  // The caller of `takeAhead` handles the failure.
  answer.catch(() => {});
  asked = { key: `overview ${span}`, answer };
}

/** The answer that was requested ahead, once; undefined if it is for another view. */
export function takeAhead(key: string): Promise<unknown> | undefined {
  const answer = asked?.key === key ? asked.answer : undefined;
  asked = undefined;
  return answer;
}
