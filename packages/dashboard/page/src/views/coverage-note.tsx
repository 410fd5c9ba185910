import type { JSX } from "preact";
import type { Coverage, Span } from "../../../src/counts.ts";
import { SPAN_MS } from "../../../src/counts.ts";
import { ShortTime } from "../parts/text.tsx";

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
  const isShort = from > at - SPAN_MS[span] * 0.98;
  return isShort ? (
    <>
      The counts begin at <ShortTime at={from} />; earlier ones are not stored.
    </>
  ) : null;
}
