import type { CountedPolicy } from "../counting/counted-policy.ts";
import type { Fallback } from "../deciding/fallback.ts";
import type { Flights } from "../deciding/flights.ts";
import type { Link } from "../deciding/link.ts";
import type { LimiterControl } from "../fleet/control/control.ts";
import type { Overrides } from "../fleet/control/overrides.ts";
import type { LimiterUsage } from "../fleet/usage/limiter-usage.ts";
import type { StoreWatch } from "../reach/outage.ts";
import type { OtherShapes } from "./other-shapes.ts";

/** The parts of a limiter that only a store on servers needs; all undefined in memory. */
export interface ServerParts {
  readonly watch: StoreWatch | undefined;
  /** What decides if the store does not answer. */
  readonly fallback: Fallback | undefined;
  /** What operators did. */
  readonly control: LimiterControl | undefined;
  /** What they overrode; undefined together with `control`. */
  readonly overrides: Overrides | undefined;
  /** What its decisions are counted in; undefined where the store keeps no usage. */
  readonly usage: LimiterUsage | undefined;
}

/** What the methods of one limiter share. */
export interface LimiterCore extends ServerParts {
  readonly name: string;
  readonly counted: CountedPolicy;
  /** The shapes of limits that calls bring, beside its own. */
  readonly shapes: OtherShapes;
  /** The first link of the chain that decides. */
  readonly chain: Link;
  /** Whether it takes units ahead, which are of all its limits alike. */
  readonly hasLease: boolean;
  /** The calls under way. */
  readonly flights: Flights;
}
