import type { LimitOverride } from "@headgate/core/admin";
import type { SubjectByDimension } from "./fleet.ts";

/** The actions of an operator. `forMs` is the duration in milliseconds; null means until it is removed. */
export type Action =
  | {
      readonly kind: "block";
      readonly limiter: string;
      readonly subject: SubjectByDimension;
      readonly forMs: number;
    }
  | {
      readonly kind: "unblock" | "reset" | "forget";
      readonly limiter: string;
      readonly subject: SubjectByDimension;
    }
  | {
      readonly kind: "setOverride";
      readonly limiter: string;
      readonly subject?: SubjectByDimension | undefined;
      readonly limits?: Readonly<Record<string, LimitOverride>> | undefined;
      readonly shadow?: boolean | undefined;
      readonly forMs: number | null;
    }
  | {
      readonly kind: "unsetOverride";
      readonly limiter: string;
      readonly subject?: SubjectByDimension | undefined;
    }
  | { readonly kind: "addToDenyList"; readonly network: string; readonly forMs: number | null }
  | { readonly kind: "removeFromDenyList"; readonly network: string }
  | {
      readonly kind: "breaker";
      readonly breaker: string;
      readonly target: string;
      /** `open` and `close` hold the state until `reset`. */
      readonly order: "open" | "close" | "reset";
    };

/** The effect that an action would have. */
export interface ActionPreview {
  /** The states before and after the action, as text with several lines. */
  readonly before: string;
  readonly after: string;
  readonly at: number;
  /** When every process would apply it, if it were performed at the time of the preview. */
  readonly effectiveAt: number;
  /** Valid once, for five minutes, while the state is unchanged. */
  readonly token: string;
}

/** The effect that an action had. */
export interface CompletedAction {
  readonly before: string;
  readonly after: string;
  readonly at: number;
  readonly effectiveAt: number;
}

/** The body of a response with an error status. */
export interface ApiError {
  readonly error: { readonly code: string; readonly message: string };
  /** With 409 on `act`: the action's current preview. */
  readonly preview?: ActionPreview | undefined;
}
