import type { JSX } from "preact";
import type { Failure } from "../client/failure.ts";

/** What stands where the first answer will; nothing if it failed, for then the top of the page says so. */
export function Loading({
  title,
  failure,
}: {
  title: string;
  failure: Failure | undefined;
}): JSX.Element {
  return (
    <>
      <h1>{title}</h1>
      {!failure && <p class="quiet">Loading…</p>}
    </>
  );
}
