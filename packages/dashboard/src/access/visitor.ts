import { HeadgateError } from "@headgate/core";
import type { ActionName } from "../api.ts";
import { ACTIONS } from "../api.ts";
import { HttpError } from "../serve/http-error.ts";

/** The permission of a visitor: none, to read, or to read and act. */
export type Permission =
  | false
  | "read"
  | {
      /** The visitor's name, which goes into the log: 1 to 256 characters. */
      readonly by: string;
      /** The actions that the visitor may take. */
      readonly actions: readonly ActionName[] | "all";
      /**
       * Whether the visitor may see the limiter or breaker of a name. Hidden ones appear not to exist. With this function, actions
       * that affect all limiters are refused: those on the deny list, and `forget`. Default: all are visible.
       */
      readonly limiters?: ((name: string) => boolean) | undefined;
    };

/** A visitor admitted by the application. */
export interface Visitor {
  /** Null if the visitor may only read. */
  readonly by: string | null;
  readonly actions: readonly ActionName[];
  /** Whether some limiters may be hidden. */
  readonly isRestricted: boolean;
  canSee(name: string): boolean;
}

/** Actions that affect all limiters, also hidden ones. */
const GLOBAL_ACTIONS: readonly ActionName[] = ["forget", "addToDenyList", "removeFromDenyList"];

const MAX_NAME_LENGTH = 256;

/**
 * The visitor with a permission. Throws an `HttpError` if there is none, and `HEADGATE_INVALID_OPTION` for an invalid one.
 * `canControlBreakers`: whether the dashboard can give orders to breakers.
 */
export function parsePermission(permission: unknown, canControlBreakers: boolean): Visitor {
  if (permission === false || permission === undefined || permission === null) throw forbidden();
  if (permission === "read")
    return { by: null, actions: [], isRestricted: false, canSee: () => true };
  if (typeof permission !== "object" || Array.isArray(permission)) {
    throw invalid('must return false, "read" or an object');
  }
  const { by, actions, limiters } = permission as Readonly<Record<string, unknown>>;
  if (typeof by !== "string" || by === "" || by.length > MAX_NAME_LENGTH) {
    throw invalid(`must return a name of 1 to ${MAX_NAME_LENGTH} characters as by`);
  }
  if (limiters !== undefined && typeof limiters !== "function") {
    throw invalid("must return a function as limiters, or leave it out");
  }
  const isRestricted = limiters !== undefined;
  return {
    by,
    actions: parseActions(actions).filter(
      (one) =>
        !(isRestricted && GLOBAL_ACTIONS.includes(one)) &&
        (canControlBreakers || one !== "breaker"),
    ),
    isRestricted,
    canSee: (name) => !isRestricted || limiters(name) === true,
  };
}

function parseActions(actions: unknown): readonly ActionName[] {
  if (actions === "all") return ACTIONS;
  const isList = Array.isArray(actions) && actions.every((one) => ACTIONS.includes(one));
  if (isList) return ACTIONS.filter((one) => actions.includes(one));
  throw invalid(`must return "all" or a list of ${ACTIONS.join(", ")} as actions`);
}

function forbidden(): HttpError {
  return new HttpError(403, "FORBIDDEN", "you may not see this");
}

function invalid(message: string): HeadgateError {
  return new HeadgateError("HEADGATE_INVALID_OPTION", `dashboard: authorize ${message}`);
}
