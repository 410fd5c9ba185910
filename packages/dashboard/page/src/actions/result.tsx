import type { JSX } from "preact";
import type { CompletedAction } from "../../../src/api.ts";
import { ShortTime } from "../parts/text.tsx";
import { useServerNow } from "../parts/use-now.ts";
import { BeforeAfter } from "./preview.tsx";

/** The completed action, with a countdown until every process applies it. */
export function Result({
  done: { before, after, effectiveAt },
}: {
  done: CompletedAction;
}): JSX.Element {
  const now = useServerNow();
  const left = Math.ceil((effectiveAt - now) / 1_000);
  return (
    <div role="status">
      <p class="done">
        <span class={left > 0 ? "countdown" : "countdown over"} aria-hidden="true">
          {left > 0 ? left : "✓"}
        </span>
        <span>
          <strong>Done. </strong>
          In force everywhere {left > 0 ? "at" : "since"} <ShortTime at={effectiveAt} />
          {left > 0 && `, in ${left} s`}.
        </span>
      </p>
      <BeforeAfter before={before} after={after} isDone />
    </div>
  );
}
