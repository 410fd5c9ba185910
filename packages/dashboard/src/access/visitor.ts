import { HeadgateError } from "@headgate/core";
import { ACTIONS } from "../api/session.ts";
import type { ActionName } from "../api.ts";
import { Refusal } from "../serve/refusal.ts";
import { isPlainObject } from "./plain-object.ts";

/** What the application permits a visitor: nothing, reading, or reading and acting. */
export type Permission =
  | false
  | "read"
  | {
      /** The visitor's name, which goes into the log: 1 to 256 characters. */
      readonly by: string;
      /** The actions that the visitor may take. */
      readonly actions: readonly ActionName[] | "all";
      /**
       * Which limiters and breakers the visitor may see, by name. Others do not exist for the visitor. With this function,
       * actions that affect all limiters are refused: those on the deny list, and `forget`. Default: all.
       */
      readonly limiters?: ((name: string) => boolean) | undefined;
    };

/** A visitor admitted by the application. */
export interface Visitor {
  /** Null if the visitor may only read. */
  readonly by: string | null;
  readonly actions: readonly ActionName[];
  /** Whether some limiters may be hidden. */
  readonly isLimited: boolean;
  sees(name: string): boolean;
}

/** These affect limiters that may be hidden. */
const OF_ALL: readonly ActionName[] = ["forget", "addToDenyList", "removeFromDenyList"];

const MOST_BY = 256;

/**
 * The visitor with a permission. Throws a `Refusal` if there is none, and `HEADGATE_INVALID_OPTION` for an invalid one.
 * `withBreakers`: whether the dashboard can give orders to breakers.
 */
export function readPermission(permission: unknown, withBreakers: boolean): Visitor {
  if (permission === false || permission === undefined || permission === null) throw forbidden();
  if (permission === "read") return { by: null, actions: [], isLimited: false, sees: () => true };
  if (!isPlainObject(permission)) throw invalid('must return false, "read" or an object');
  const { by, actions, limiters } = permission;
  if (typeof by !== "string" || by === "" || by.length > MOST_BY) {
    throw invalid(`must return a name of 1 to ${MOST_BY} characters as by`);
  }
  if (limiters !== undefined && typeof limiters !== "function") {
    throw invalid("must return a function as limiters, or leave it out");
  }
  const isLimited = limiters !== undefined;
  return {
    by,
    actions: readActions(actions).filter(
      (one) => !(isLimited && OF_ALL.includes(one)) && (withBreakers || one !== "breaker"),
    ),
    isLimited,
    sees: (name) => !isLimited || limiters(name) === true,
  };
}

function readActions(actions: unknown): readonly ActionName[] {
  if (actions === "all") return ACTIONS;
  const isList = Array.isArray(actions) && actions.every((one) => ACTIONS.includes(one));
  if (isList) return ACTIONS.filter((one) => actions.includes(one));
  throw invalid(`must return "all" or a list of ${ACTIONS.join(", ")} as actions`);
}

/** For a visitor whom the application does not admit. */
function forbidden(): Refusal {
  return new Refusal(403, "FORBIDDEN", "you may not see this");
}

function invalid(message: string): HeadgateError {
  return new HeadgateError("HEADGATE_INVALID_OPTION", `dashboard: authorize ${message}`);
}
