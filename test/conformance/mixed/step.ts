import type { Features, MixedWorld, Tier } from "./world.ts";

/** One kind of thing that happens in a mixed world, with the laws that hold when it does. A feature of its own is one more of them. */
export interface MixedStep {
  readonly name: string;
  /** How often, beside the others. */
  readonly weight: number;
  /** Where it cannot be. Default: nowhere. */
  readonly isLeftOut?: (features: Features) => boolean;
  /** Resolves with false where there was nothing to do. */
  readonly run: (world: MixedWorld, tier: Tier) => Promise<boolean>;
}
