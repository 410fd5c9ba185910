import type { JSX } from "preact";
import { failureInWords } from "../client/failure.ts";
import { formatLength } from "../format/time.ts";
import { Lines } from "../parts/text.tsx";
import type { ActState, ShownPreview } from "./use-act.ts";

/** The change that an action would make, or why there is no preview. */
export function Change({
  state,
  isComplete,
  retry,
}: {
  state: ActState;
  isComplete: boolean;
  retry: () => void;
}): JSX.Element {
  return (
    <div class="preview" aria-live="polite">
      {(!isComplete || state.step === "incomplete") && (
        <p class="quiet">Fill in the rest to see what would change.</p>
      )}
      {isComplete && state.step === "asking" && <p class="quiet">Looking at what would change…</p>}
      {isComplete && state.step === "refused" && (
        <div class="notice bad">
          <strong>{failureInWords(state.failure)}</strong> {consequence(state.failure.status)}{" "}
          <button type="button" onClick={retry}>
            Look again
          </button>
        </div>
      )}
      {isComplete && (state.step === "shown" || state.step === "acting") && (
        <>
          {state.step === "shown" && state.failure && (
            <div class="notice warn">
              <strong>{failureInWords(state.failure)}</strong>{" "}
              {state.failure.status === 409
                ? "Nothing was done. This is how it is now: read it, and confirm again."
                : "Nothing was done."}
            </div>
          )}
          <BeforeAfter before={state.preview.before} after={state.preview.after} isDone={false} />
          <p class="quiet">{forceWords(state.preview)}</p>
        </>
      )}
    </div>
  );
}

/** Whether the action may have happened, as far as is known. */
function consequence(status: number): string {
  if (status === 0 || status >= 500) {
    return "It is not known whether it was done. Look at the state again before you repeat it.";
  }
  return "Nothing was done.";
}

function forceWords({ delayMs }: ShownPreview): string {
  return delayMs === 0
    ? "In force in every process at once."
    : `In force in every process ${formatLength(delayMs)} after you confirm.`;
}

export function BeforeAfter({
  before,
  after,
  isDone,
}: {
  before: string;
  after: string;
  isDone: boolean;
}): JSX.Element {
  return (
    <dl class="before-after">
      <div>
        <dt>Before</dt>
        <dd>
          <Lines of={before} />
        </dd>
      </div>
      <div class="new">
        <dt>{isDone ? "Now" : "After"}</dt>
        <dd>
          <Lines of={after} />
        </dd>
      </div>
    </dl>
  );
}
