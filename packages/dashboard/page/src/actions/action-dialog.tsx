import type { JSX } from "preact";
import { useContext, useEffect, useId, useRef, useState } from "preact/hooks";
import type { Action, CompletedAction } from "../../../src/api.ts";
import { formatFailure } from "../client/failure.ts";
import { useServerNow } from "../client/server-clock.ts";
import { DEFAULT_TARGET } from "../format/text.ts";
import { formatDuration } from "../format/time.ts";
import type { ActionDraft } from "../page-context.ts";
import { PageContext } from "../page-context.ts";
import { Name, ServerLines, ServerText, ShortTime, Subject, Zone } from "../parts/text.tsx";
import { ActionForm, Required } from "./action-form.tsx";
import type { ActionState, ShownPreview } from "./use-action.ts";
import { useAction } from "./use-action.ts";

/**
 * The dialog of an action: has fields for its parameters and the reason, previews the change, performs the action, and shows when
 * it takes effect.
 */
export function ActionDialog({
  draft,
  onClose,
}: {
  draft: ActionDraft;
  onClose: (done: boolean) => void;
}): JSX.Element {
  const { session } = useContext(PageContext);
  const [action, setAction] = useState<Action | undefined>(
    draft.form === "fixed" ? draft.action : undefined,
  );
  const [reason, setReason] = useState("");
  const { state, act, retry } = useAction(action);
  const id = useId();
  const box = useModal();
  const title = titleOf(draft);
  const isDone = state.step === "done";
  const isBusy = state.step === "acting";
  const confirm = (event: SubmitEvent): void => {
    event.preventDefault();
    if (state.step === "shown") act(reason.trim());
  };
  return (
    <dialog
      ref={box}
      class="action"
      aria-labelledby={id}
      onClose={() => onClose(isDone)}
      onCancel={(event) => isBusy && event.preventDefault()}
    >
      <form onSubmit={confirm}>
        <h2 id={id}>{title}</h2>
        <ActionTarget draft={draft} />
        {isDone ? (
          <Result done={state.done} />
        ) : (
          <>
            {draft.form === "fixed" && draft.note && <p>{draft.note}</p>}
            <ActionForm draft={draft} onChange={setAction} />
            <label class="field">
              <span>
                Reason, for the log <Required />
              </span>
              <input
                required
                maxLength={1_000}
                value={reason}
                autocomplete="off"
                placeholder="Ticket, incident, or what you saw"
                onInput={({ currentTarget }) => setReason(currentTarget.value)}
              />
            </label>
            <div class="preview" aria-live="polite">
              <Preview state={action === undefined ? INCOMPLETE : state} retry={retry} />
            </div>
            <p class="quiet">
              Logged as <Name value={session.by ?? ""} plain />.
            </p>
          </>
        )}
        {!isDone && (
          <p id={`${id}why`} class="quiet why">
            {whyNotYet(action, state, reason)}
          </p>
        )}
        <div class="buttons">
          <button
            type="button"
            disabled={isBusy}
            onClick={() => box.current?.close()}
            class={isDone ? "primary" : ""}
          >
            {isDone ? "Close" : "Cancel"}
          </button>
          {!isDone && (
            <button
              type="submit"
              class={isDangerous(action) ? "danger" : "primary"}
              aria-describedby={`${id}why`}
              disabled={state.step !== "shown" || reason.trim() === ""}
            >
              {isBusy ? "Working…" : title}
            </button>
          )}
        </div>
      </form>
    </dialog>
  );
}

/** Why the action cannot be confirmed yet; undefined if it can. */
function whyNotYet(
  action: Action | undefined,
  { step }: ActionState,
  reason: string,
): string | undefined {
  if (action === undefined) return "Fill in what is required first.";
  if (step === "loading") return "Wait for the preview.";
  if (step === "failed") return "Without a preview, nothing can be confirmed.";
  if (step === "shown" && reason.trim() === "") return "Give a reason to confirm.";
  return undefined;
}

/** Opens the dialog over the page as soon as it is rendered. */
function useModal(): { current: HTMLDialogElement | null } {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const { current } = box;
    if (current && !current.open) current.showModal();
  }, []);
  return box;
}

function isDangerous(action: Action | undefined): boolean {
  if (action?.kind === "breaker") return action.order === "open";
  return action !== undefined && ["block", "forget", "addToDenyList"].includes(action.kind);
}

function ActionTarget({ draft }: { draft: ActionDraft }): JSX.Element | null {
  const target = draft.form === "fixed" ? draft.action : draft;
  if ("breaker" in target) {
    return (
      <p class="action-target">
        {target.target === DEFAULT_TARGET ? (
          <span class="quiet">Calls without a target, of the breaker</span>
        ) : (
          <>
            <Name value={target.target} /> <span class="quiet">of the breaker</span>
          </>
        )}{" "}
        <Name value={target.breaker} />
      </p>
    );
  }
  if ("limiter" in target) {
    return (
      <p class="action-target">
        {"subject" in target && target.subject ? (
          <Subject subject={target.subject} />
        ) : (
          <ServerText text="All subjects" />
        )}{" "}
        <span class="quiet">in</span> <Name value={target.limiter} />
      </p>
    );
  }
  return target.network === undefined ? null : (
    <p class="action-target">
      <Name value={target.network} />
    </p>
  );
}

/** The title of the dialog for a draft, and the label of its button. */
function titleOf(draft: ActionDraft): string {
  switch (draft.form) {
    case "fixed":
      return draft.title;
    case "block":
      return "Block";
    case "override":
      return "Override limits";
    case "shadow":
      return draft.shadow ? "Put in shadow mode" : "Enforce";
    case "deny":
      return "Add to the deny list";
  }
}

/** The completed action, with a countdown until every process applies it. */
function Result({ done }: { done: CompletedAction }): JSX.Element {
  const { effectiveAt } = done;
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
      <BeforeAfter states={done} afterTitle="Now" />
    </div>
  );
}

/** The form is not complete, even if the state still is that of the action before. */
const INCOMPLETE = { step: "incomplete" } as const;

/** The preview of an action, or the reason why there is none. */
function Preview({
  state,
  retry,
}: {
  state: Exclude<ActionState, { step: "done" }>;
  retry: () => void;
}): JSX.Element {
  switch (state.step) {
    case "incomplete":
      return <p class="quiet">Complete the form to preview the change.</p>;
    case "loading":
      return <p class="quiet">Loading the preview…</p>;
    case "failed":
      return (
        <div class="notice bad">
          <strong>{formatFailure(state.failure)}</strong>{" "}
          {state.mayBeDone
            ? "It is not known whether it was done. Check the state before you repeat it."
            : "Nothing was done."}{" "}
          <button type="button" onClick={retry}>
            Preview again
          </button>
        </div>
      );
    default:
      return (
        <>
          {state.step === "shown" && state.failure && (
            <div class="notice warn">
              <strong>{formatFailure(state.failure)}</strong> Nothing was done.
              {state.failure.status === 409 &&
                " Check the current state below, then confirm again."}
            </div>
          )}
          <BeforeAfter states={state.preview} afterTitle="After" />
          {state.preview.impact !== undefined && (
            <div class="impact">
              <ServerLines text={state.preview.impact} />
            </div>
          )}
          <p class="quiet">
            {formatDelay(state.preview)} Times are <Zone />.
          </p>
        </>
      );
  }
}

function formatDelay({ delayMs }: ShownPreview): string {
  return delayMs === 0
    ? "In force in every process at once."
    : `In force in every process ${formatDuration(delayMs)} after you confirm.`;
}

function BeforeAfter({
  states: { before, after },
  afterTitle,
}: {
  states: Pick<CompletedAction, "before" | "after">;
  afterTitle: string;
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
        <dt>{afterTitle}</dt>
        <dd>
          <ServerLines text={after} />
        </dd>
      </div>
    </dl>
  );
}
