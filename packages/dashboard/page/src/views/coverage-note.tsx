import type { JSX } from "preact";
import type { Coverage, Span } from "../../../src/api.ts";
import { When } from "../parts/text.tsx";
import { LENGTHS } from "../words/span.ts";

/** The part of the span that the figures cover, if not all of it. */
export function CoverageNote({
  coverage: { from },
  at,
  span,
}: {
  coverage: Coverage;
  at: number;
  span: Span;
}): JSX.Element | null {
  const isShort = from > at - LENGTHS[span] * 0.98;
  return isShort ? (
    <>
      Counts begin at <When at={from} />: nothing before it is kept.
    </>
  ) : null;
}
