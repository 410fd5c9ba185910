import type { Context } from "preact";
import { createContext } from "preact";
import type { Action, ActionName, Session, SubjectByDimension } from "../../src/api.ts";
import type { DataSource } from "./client/data-source.ts";
import type { Failure } from "./client/failure.ts";

/** The state of the current view: its age, and whether the last request failed. */
export interface LiveState {
  /** The time of its data; undefined before the first response. */
  readonly at: number | undefined;
  readonly failure: Failure | undefined;
  readonly refresh: () => void;
}

/** An action for which to open a dialog. */
export type ActionDraft =
  | {
      readonly form: "fixed";
      readonly title: string;
      readonly note?: string | undefined;
      readonly action: Action;
    }
  | {
      readonly form: "block";
      readonly limiter: string;
      readonly subject: Readonly<Record<string, string>>;
    }
  | {
      readonly form: "override";
      readonly limiter: string;
      readonly subject?: Readonly<Record<string, string>> | undefined;
      /** The numbers that can be replaced, by the name of a limit; missing if the limiter's policy has to be requested first. */
      readonly numbers?: Readonly<Record<string, Readonly<Record<string, number>>>> | undefined;
    }
  | { readonly form: "shadow"; readonly limiter: string; readonly shadow: boolean }
  | { readonly form: "deny"; readonly network?: string };

/** The state shared by all parts of the page. */
export interface PageState {
  readonly source: DataSource;
  readonly session: Session;
  readonly isPermitted: (kind: ActionName) => boolean;
  readonly openDialog: (draft: ActionDraft) => void;
  /** Undefined for a view that requests nothing. */
  readonly setLive: (live: LiveState | undefined) => void;
}

export const PageContext: Context<PageState> = createContext<PageState>(
  undefined as unknown as PageState,
);

/** Whether the figures of the current view are the last ones before requests began to fail: nothing in them is true of now. */
export const StaleContext: Context<boolean> = createContext(false);

type SubjectAction = "block" | "unblock" | "reset" | "setOverride" | "unsetOverride" | "forget";

/** The drafts of the actions on a subject of a limiter. */
export function subjectDrafts(
  limiter: string,
  subject: SubjectByDimension,
): Readonly<Record<SubjectAction, ActionDraft>> {
  const fixed = (
    kind: Exclude<SubjectAction, "block" | "setOverride">,
    title: string,
    note?: string,
  ): ActionDraft => ({ form: "fixed", title, note, action: { kind, limiter, subject } });
  return {
    block: { form: "block", limiter, subject },
    unblock: fixed(
      "unblock",
      "Unblock",
      "Ends its blocks, including those set by limits. A limit that set one counts from zero again; other usage stays.",
    ),
    reset: fixed(
      "reset",
      "Reset",
      "Resets its usage to zero, and ends the blocks that limits have set.",
    ),
    setOverride: { form: "override", limiter, subject },
    unsetOverride: fixed("unsetOverride", "Remove override"),
    forget: fixed(
      "forget",
      "Forget",
      "Erases all stored data about this subject: usage and blocks in this limiter, its overrides in every limiter, and its name in the log. This cannot be undone.",
    ),
  };
}
