import type { JSX } from "preact";
import type { Failure } from "../client/failure.ts";

/** A placeholder for the first answer; nothing if it failed, because the top of the page says so. */
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
