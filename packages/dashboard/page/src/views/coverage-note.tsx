import type { JSX } from "preact";
import type { Coverage, Span } from "../../../src/api.ts";
import { When } from "../parts/text.tsx";
import { LENGTHS } from "../words/span.ts";

/** The part of the span that the figures cover, if not all of it. */
export function CoverageNote({
  coverage: { from, isKept, silent, processes },
  at,
  span,
}: {
  coverage: Coverage;
  at: number;
  span: Span;
}): JSX.Element | null {
  if (!isKept) return <>Nothing so old is kept here. Choose a shorter time.</>;
  const isShort = from > at - LENGTHS[span] * 0.98;
  if (!isShort && silent === null && processes > 0) {
    return <>It is not known whether every process reports: the counts are lower bounds.</>;
  }
  return isShort ? (
    <>
      Counts begin at <When at={from} />: nothing before it is kept.
    </>
  ) : null;
}
