import type { Context } from "preact";
import { createContext } from "preact";
import type { Action, ActionName, Session } from "../../src/api.ts";
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
      readonly note?: string;
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
  readonly setLive: (live: LiveState) => void;
}

export const PageContext: Context<PageState> = createContext<PageState>(
  undefined as unknown as PageState,
);
