import type { JSX } from "preact";
import type { Failure } from "../client/failure.ts";

/** A placeholder until the first response; nothing after a failure, which the top of the page explains. */
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
