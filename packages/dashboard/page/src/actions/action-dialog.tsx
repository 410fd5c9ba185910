import type { JSX } from "preact";
import { useContext, useEffect, useId, useRef, useState } from "preact/hooks";
import type { Action } from "../../../src/api.ts";
import type { ActionDraft } from "../page-context.ts";
import { PageContext } from "../page-context.ts";
import { Name, ServerText, Subject } from "../parts/text.tsx";
import { ActionForm } from "./action-form.tsx";
import { Preview } from "./preview.tsx";
import { Result } from "./result.tsx";
import { titleOf } from "./title.ts";
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
  const acting = useAction(action);
  const id = useId();
  const box = useModal();
  const { state } = acting;
  const isDone = state.step === "done";
  const confirm = (event: SubmitEvent): void => {
    event.preventDefault();
    if (state.step === "shown") acting.act(reason.trim());
  };
  return (
    <dialog
      ref={box}
      class="action"
      aria-labelledby={id}
      onClose={() => onClose(isDone)}
      onCancel={(event) => state.step === "acting" && event.preventDefault()}
    >
      <form onSubmit={confirm}>
        <h2 id={id}>{titleOf(draft)}</h2>
        <ActionTarget draft={draft} />
        {isDone ? (
          <Result done={state.done} />
        ) : (
          <>
            {draft.form === "fixed" && draft.note && <p>{draft.note}</p>}
            <ActionForm draft={draft} onChange={setAction} />
            <Reason value={reason} onInput={setReason} />
            <Preview state={state} isComplete={action !== undefined} retry={acting.retry} />
            <p class="quiet">
              Logged as <Name value={session.by ?? ""} plain />.
            </p>
          </>
        )}
        <Buttons
          isDone={isDone}
          isBusy={state.step === "acting"}
          canAct={state.step === "shown" && reason.trim() !== ""}
          isDangerous={isDangerous(action)}
          label={titleOf(draft)}
          close={() => box.current?.close()}
        />
      </form>
    </dialog>
  );
}

function Reason({
  value,
  onInput,
}: {
  value: string;
  onInput: (value: string) => void;
}): JSX.Element {
  return (
    <label class="field">
      <span>Reason, for the log</span>
      <input
        required
        maxLength={1_000}
        value={value}
        autocomplete="off"
        placeholder="Ticket, incident, or what you saw"
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
    </label>
  );
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
        <Name value={target.target} /> <span class="quiet">of the breaker</span>{" "}
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

function Buttons({
  isDone,
  isBusy,
  canAct,
  isDangerous: dangerous,
  label,
  close,
}: {
  isDone: boolean;
  isBusy: boolean;
  canAct: boolean;
  isDangerous: boolean;
  label: string;
  close: () => void;
}): JSX.Element {
  return (
    <div class="buttons">
      <button type="button" disabled={isBusy} onClick={close} class={isDone ? "primary" : ""}>
        {isDone ? "Close" : "Cancel"}
      </button>
      {!isDone && (
        <button type="submit" class={dangerous ? "danger" : "primary"} disabled={!canAct}>
          {isBusy ? "Working…" : label}
        </button>
      )}
    </div>
  );
}
