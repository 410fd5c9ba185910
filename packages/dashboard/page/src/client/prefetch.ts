import type { Overview } from "../../../src/api.ts";
import type { Route } from "../route.ts";
import { spanOf } from "../route.ts";
import type { DataSource } from "./data-source.ts";

let prefetched: { readonly key: string; readonly response: Promise<Overview> } | undefined;

/** Requests the overview before the session has loaded, if the page opens with it: a slow machine shows it sooner. */
export function prefetch(source: DataSource, route: Route): void {
  if (route.view !== "overview") return;
  const span = spanOf(route);
  const response = source.overview(span, new AbortController().signal);
  // The caller of `takePrefetched` handles the failure.
  response.catch(() => {});
  prefetched = { key: `overview ${span}`, response };
}

/** Takes the prefetched response once; undefined if it is for another view. */
export function takePrefetched(key: string): Promise<unknown> | undefined {
  const response = prefetched?.key === key ? prefetched.response : undefined;
  prefetched = undefined;
  return response;
}
