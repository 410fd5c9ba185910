import type { Action } from "./actions.ts";

/** An action that a visitor may be permitted. */
export type ActionName = Action["kind"];

/** All actions, in the order of the page's lists. */
export const ACTIONS: readonly ActionName[] = [
  "block",
  "unblock",
  "reset",
  "forget",
  "setOverride",
  "unsetOverride",
  "addToDenyList",
  "removeFromDenyList",
  "breaker",
];

/** The visitor's session, from the application's `authorize`. */
export interface Session {
  /** The visitor's name in the log; null if only reading is permitted. */
  readonly by: string | null;
  /** The allowed actions; none if only reading is allowed. */
  readonly actions: readonly ActionName[];
  readonly prefix: string;
  /** The title of the page, as configured by the application. */
  readonly title: string;
  /** How often the page repeats its requests, in milliseconds. */
  readonly pollMs: number;
  /** Whether `redis` has findings. */
  readonly hasDoctor: boolean;
}
