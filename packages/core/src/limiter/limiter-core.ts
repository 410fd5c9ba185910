import type { LimiterControl } from "../fleet/control/control.ts";
import type { Overrides } from "../fleet/control/overrides.ts";
import type { LimiterUsage } from "../fleet/usage/limiter-usage.ts";
import type { CountedPolicy } from "./counted-policy.ts";
import type { Decider } from "./decider.ts";
import type { Flights } from "./flights.ts";

/** What the functions of one limiter share. */
export interface LimiterCore {
  readonly name: string;
  readonly counted: CountedPolicy;
  readonly decider: Decider;
  /** What operators did; undefined where the store has no control record. */
  readonly control: LimiterControl | undefined;
  /** What they overrode; undefined together with `control`. */
  readonly overrides: Overrides | undefined;
  /** What its decisions are counted in; undefined where the store keeps no usage. */
  readonly usage: LimiterUsage | undefined;
  /** Whether it takes units ahead, which are of all its limits alike. */
  readonly hasLease: boolean;
  /** The calls under way. */
  readonly flights: Flights;
}
