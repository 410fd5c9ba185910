import type { JSX } from "preact";
import type { Span } from "../../../src/counts.ts";
import { SPANS } from "../../../src/counts.ts";
import type { Route } from "../route.ts";
import { hrefOf } from "../route.ts";

/** Chooses the span of time, in the URL. */
export function SpanSwitch({ route, span }: { route: Route; span: Span }): JSX.Element {
  return (
    <nav class="switch" aria-label="Time span">
      {SPANS.map((one) => (
        <a
          key={one}
          href={hrefOf(route.view, { ...route.params, span: one })}
          aria-current={one === span ? "true" : undefined}
        >
          {one}
        </a>
      ))}
    </nav>
  );
}
