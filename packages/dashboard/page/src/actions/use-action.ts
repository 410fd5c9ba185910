import { useContext, useEffect, useRef, useState } from "preact/hooks";
import type { Action, ActionPreview, CompletedAction } from "../../../src/api.ts";
import type { Failure } from "../client/failure.ts";
import { asFailure } from "../client/failure.ts";
import { recordServerTime } from "../client/server-clock.ts";
import { PageContext } from "../page-context.ts";

/** A preview, and the milliseconds until the action would take effect. */
export interface ShownPreview extends ActionPreview {
  readonly delayMs: number;
}

/** The progress of an action. */
export type ActionState =
  | { readonly step: "incomplete" }
  | { readonly step: "loading" }
  /** `mayBeDone`: whether an attempt has failed in such a way that the action may have been performed. */
  | { readonly step: "failed"; readonly failure: Failure; readonly mayBeDone: boolean }
  /** `failure` is the reason why the last attempt did nothing. */
  | {
      readonly step: "shown";
      readonly preview: ShownPreview;
      readonly failure?: Failure | undefined;
    }
  | { readonly step: "acting"; readonly preview: ShownPreview }
  | { readonly step: "done"; readonly done: CompletedAction };

/** Milliseconds without typing after which the preview is loaded. */
const TYPING_PAUSE_MS = 350;

export interface ActionControl {
  readonly state: ActionState;
  readonly act: (reason: string) => void;
  /** Loads the preview again. */
  readonly retry: () => void;
}

/** Previews an action as soon as it is complete, and performs it on request. */
export function useAction(action: Action | undefined): ActionControl {
  const { source } = useContext(PageContext);
  const [state, setState] = useState<ActionState>({ step: "incomplete" });
  const [attempt, setAttempt] = useState(0);
  const unmountSignal = useUnmountSignal();
  const text = JSON.stringify(action);
  const wasPreviewed = useRef(false);
  const mayBeDone = useRef(false);
  useEffect(() => {
    setState({ step: action ? "loading" : "incomplete" });
    if (action === undefined) return undefined;
    const controller = new AbortController();
    const loadPreview = async (): Promise<void> => {
      wasPreviewed.current = true;
      try {
        const preview = withDelay(await source.preview(action, controller.signal));
        if (controller.signal.aborted) return;
        mayBeDone.current = false;
        setState({ step: "shown", preview });
      } catch (error) {
        if (controller.signal.aborted) return;
        setState({ step: "failed", failure: asFailure(error), mayBeDone: mayBeDone.current });
      }
    };
    const timer = setTimeout(loadPreview, wasPreviewed.current ? TYPING_PAUSE_MS : 0);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [text, attempt]);
  const act = async (reason: string): Promise<void> => {
    if (state.step !== "shown" || action === undefined) return;
    const { preview } = state;
    setState({ step: "acting", preview });
    try {
      const done = await source.act(action, reason, preview.token, unmountSignal);
      recordServerTime(done.at);
      setState({ step: "done", done });
    } catch (error) {
      if (unmountSignal.aborted) return;
      const next = afterFailure(asFailure(error), preview);
      mayBeDone.current = next.step === "failed" && next.mayBeDone;
      setState(next);
    }
  };
  return { state, act: (reason) => void act(reason), retry: () => setAttempt(attempt + 1) };
}

/** A preview with its delay by the server's clock: whole seconds, as processes refresh their settings every few seconds. */
export function withDelay(preview: ActionPreview): ShownPreview {
  const seconds = Math.round((preview.effectiveAt - preview.at) / 1_000);
  return { ...preview, delayMs: Math.max(0, seconds) * 1_000 };
}

/** The state after an action failed: each attempt that reached the server uses up a token. */
function afterFailure(failure: Failure, preview: ShownPreview): ActionState {
  if (failure.preview) return { step: "shown", preview: withDelay(failure.preview), failure };
  const { status } = failure;
  if (status === 429) return { step: "shown", preview, failure };
  return { step: "failed", failure, mayBeDone: status === undefined || status >= 500 };
}

function useUnmountSignal(): AbortSignal {
  const controller = useRef<AbortController | undefined>(undefined);
  controller.current ??= new AbortController();
  useEffect(() => () => controller.current?.abort(), []);
  return controller.current.signal;
}
