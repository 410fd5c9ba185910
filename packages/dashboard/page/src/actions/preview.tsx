import type { JSX } from "preact";
import { formatFailure } from "../client/failure.ts";
import { formatDuration } from "../format/time.ts";
import { ServerLines } from "../parts/text.tsx";
import type { ActionState, ShownPreview } from "./use-action.ts";

/** The preview of an action, or the reason why there is none. */
export function Preview({
  state,
  isComplete,
  retry,
}: {
  state: ActionState;
  isComplete: boolean;
  retry: () => void;
}): JSX.Element {
  return (
    <div class="preview" aria-live="polite">
      {(!isComplete || state.step === "incomplete") && (
        <p class="quiet">Complete the form to preview the change.</p>
      )}
      {isComplete && state.step === "loading" && <p class="quiet">Loading the preview…</p>}
      {isComplete && state.step === "failed" && (
        <div class="notice bad">
          <strong>{formatFailure(state.failure)}</strong> {formatConsequence(state.failure.status)}{" "}
          <button type="button" onClick={retry}>
            Preview again
          </button>
        </div>
      )}
      {isComplete && (state.step === "shown" || state.step === "acting") && (
        <>
          {state.step === "shown" && state.failure && (
            <div class="notice warn">
              <strong>{formatFailure(state.failure)}</strong>{" "}
              {state.failure.status === 409
                ? "Nothing was done. Check the current state below, then confirm again."
                : "Nothing was done."}
            </div>
          )}
          <BeforeAfter before={state.preview.before} after={state.preview.after} isDone={false} />
          <p class="quiet">{formatDelay(state.preview)}</p>
        </>
      )}
    </div>
  );
}

/** Whether a failed action may have been performed, as text. */
function formatConsequence(status: number | undefined): string {
  if (status === undefined || status >= 500) {
    return "It is not known whether it was done. Check the state before you repeat it.";
  }
  return "Nothing was done.";
}

function formatDelay({ delayMs }: ShownPreview): string {
  return delayMs === 0
    ? "In force in every process at once."
    : `In force in every process ${formatDuration(delayMs)} after you confirm.`;
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
          <ServerLines text={before} />
        </dd>
      </div>
      <div class="new">
        <dt>{isDone ? "Now" : "After"}</dt>
        <dd>
          <ServerLines text={after} />
        </dd>
      </div>
    </dl>
  );
}
