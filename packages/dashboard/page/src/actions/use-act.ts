import { useContext, useEffect, useRef, useState } from "preact/hooks";
import type { Action, ActionDone, ActionPreview } from "../../../src/api.ts";
import type { Failure } from "../client/failure.ts";
import { asFailure } from "../client/failure.ts";
import { noteServerTime, serverNow } from "../client/server-clock.ts";
import { PageContext } from "../visit.ts";

/** A preview, and how many milliseconds after it the action would take effect. */
export interface ShownPreview extends ActionPreview {
  readonly delayMs: number;
}

/** The progress of an action. */
export type ActState =
  | { readonly step: "incomplete" }
  | { readonly step: "asking" }
  | { readonly step: "refused"; readonly failure: Failure }
  /** `failure`: why the last attempt did nothing. */
  | {
      readonly step: "shown";
      readonly preview: ShownPreview;
      readonly failure?: Failure | undefined;
    }
  | { readonly step: "acting"; readonly preview: ShownPreview }
  | { readonly step: "done"; readonly done: ActionDone };

/** A pause of this many milliseconds ends typing. */
const PAUSE = 350;

export interface Acting {
  readonly state: ActState;
  readonly act: (reason: string) => void;
  /** Asks for the preview again. */
  readonly retry: () => void;
}

/** Previews an action as soon as it is complete, and performs it on request. */
export function useAct(action: Action | undefined): Acting {
  const { source } = useContext(PageContext);
  const [state, setState] = useState<ActState>({ step: "incomplete" });
  const [attempt, setAttempt] = useState(0);
  const leaving = useLeaving();
  const text = JSON.stringify(action);
  const wasAsked = useRef(false);
  useEffect(() => {
    setState({ step: action ? "asking" : "incomplete" });
    if (action === undefined) return undefined;
    const asking = new AbortController();
    const ask = async (): Promise<void> => {
      wasAsked.current = true;
      try {
        const preview = shown(await source.preview(action, asking.signal));
        if (!asking.signal.aborted) setState({ step: "shown", preview });
      } catch (error) {
        if (!asking.signal.aborted) setState({ step: "refused", failure: asFailure(error) });
      }
    };
    const timer = setTimeout(ask, wasAsked.current ? PAUSE : 0);
    return () => {
      clearTimeout(timer);
      asking.abort();
    };
  }, [text, attempt]);
  const act = async (reason: string): Promise<void> => {
    if (state.step !== "shown" || action === undefined) return;
    const { preview } = state;
    setState({ step: "acting", preview });
    try {
      const done = await source.act(action, reason, preview.token, leaving);
      noteServerTime(done.at);
      setState({ step: "done", done });
    } catch (error) {
      if (!leaving.aborted) setState(afterFailure(asFailure(error), preview));
    }
  };
  return { state, act: (reason) => void act(reason), retry: () => setAttempt(attempt + 1) };
}

function shown(preview: ActionPreview): ShownPreview {
  return { ...preview, delayMs: Math.max(0, preview.inForceAt - serverNow()) };
}

/** The state after an action failed: each attempt that reached the server uses up a token. */
function afterFailure(failure: Failure, preview: ShownPreview): ActState {
  if (failure.preview) return { step: "shown", preview: shown(failure.preview), failure };
  return failure.status === 429
    ? { step: "shown", preview, failure }
    : { step: "refused", failure };
}

function useLeaving(): AbortSignal {
  const leaving = useRef<AbortController | undefined>(undefined);
  leaving.current ??= new AbortController();
  useEffect(() => () => leaving.current?.abort(), []);
  return leaving.current.signal;
}
