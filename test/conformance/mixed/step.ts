import type { Features, MixedWorld, Tier } from "./world.ts";

/** One kind of step in a mixed world, with the laws that it checks. */
export interface MixedStep {
  readonly name: string;
  /** The relative frequency of the step. */
  readonly weight: number;
  /** Whether worlds with these features leave the step out. Default: none do. */
  readonly isLeftOut?: (features: Features) => boolean;
  /** Resolves with false if there was nothing to do. */
  readonly run: (world: MixedWorld, tier: Tier) => Promise<boolean>;
}
