import type { Action } from "./actions.ts";

/** An action that a visitor may be allowed. */
export type ActionName = Action["kind"];

/** What an application's `authorize` lets the page do. */
export interface Session {
  /** The visitor's name in the log; null if only reading is allowed. */
  readonly by: string | null;
  /** The allowed actions; none if only reading is allowed. */
  readonly actions: readonly ActionName[];
  readonly prefix: string;
  /** Of Headgate. */
  readonly version: string;
  /** The title of the page, as the application gave it. */
  readonly title: string;
  readonly now: number;
  /** How often the page asks again, in milliseconds. */
  readonly pollMs: number;
  /** Whether `redis` has findings. */
  readonly hasDoctor: boolean;
}
