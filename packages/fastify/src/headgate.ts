import type { Limiter } from "@headgate/core";
import { HeadgateError } from "@headgate/core";
import type { Done } from "./decide-request.ts";
import type { Rule } from "./rule.ts";

/** The rate limiter of a scope, as `app.headgate`. */
export interface Headgate {
  /** The plugin's limiter, for `reset`, `refund`, `peek`. Throws `HEADGATE_INVALID_OPTION` when its limits are `byTier`. */
  readonly limiter: Limiter;
  /** The limiter of each tier, when the plugin's limits are `byTier`. */
  readonly tiers: ReadonlyMap<string, Limiter>;
}

/** A route hook, typed by the little it needs, so that it fits every server and type provider. */
export type RateLimitHook = (request: object, reply: object, done: Done) => void;

export function createHeadgate({ limiters }: Rule): Headgate {
  return {
    get limiter() {
      if (limiters.only !== undefined) return limiters.only;
      throw new HeadgateError(
        "HEADGATE_INVALID_OPTION",
        "the limits of this plugin depend on the tier: use app.headgate.tiers",
      );
    },
    tiers: limiters.tiers,
  };
}
