import { useEffect, useState } from "preact/hooks";
import type { Route } from "./route.ts";
import { parseRoute } from "./route.ts";

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
