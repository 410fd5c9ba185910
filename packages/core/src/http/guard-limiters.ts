import { HeadgateError } from "../errors.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import type { Limiter } from "../limiter/limiter.ts";
import { partsOf } from "../limiter/limiter.ts";
import { requireName } from "../limiter/names.ts";
import { FAILURE_OPTIONS, failureOptionsOf } from "../limiter/outage/failure-options.ts";
import type { FailureOptions } from "../limiter/outage/outage.ts";
import type { Policy } from "../policy.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { TierPolicy } from "./by-tier.ts";
import { isTierPolicy, requireTiers } from "./by-tier.ts";
import type { GuardOptions } from "./guard-options.ts";

/** The options that belong to a limiter, beside what it counts. */
export const LIMITER_OPTIONS: readonly (keyof FailureOptions | "shadow")[] = [
  ...FAILURE_OPTIONS,
  "shadow",
];

/** These options out of more. */
export function limiterOptionsOf<Request>(
  options: GuardOptions<Request>,
): FailureOptions & Pick<GuardOptions<Request>, "shadow"> {
  return { ...failureOptionsOf(options), shadow: options.shadow };
}

/** The limiters that a set of options describes: one, or one for each tier. */
export interface GuardLimiters {
  /** The one limiter, when limits do not depend on the request. */
  readonly only: Limiter | undefined;
  /** The limiter of each tier, when they do. */
  readonly tiers: ReadonlyMap<string, Limiter>;
  readonly all: readonly Limiter[];
  /** The limiter of a request; a promise where it depends on the request. Rejects with `HEADGATE_UNKNOWN_TIER`. */
  of(request: unknown): Limiter | Promise<Limiter>;
  /** Closes those that were made here; one that was handed in stays open. */
  close(): Promise<void>;
}

/** Makes the limiters that options describe; `extended` is decided together with each. Throws what `createLimiter` throws. */
export function makeGuardLimiters<Request>(
  owner: string,
  options: GuardOptions<Request>,
  extended?: Limiter,
): GuardLimiters {
  const { limiter, limits, name, store } = options;
  if (limiter !== undefined) {
    rejectBeside(owner, options);
    partsOf(limiter);
    return oneLimiter(limiter, async () => {});
  }
  if (limits === undefined) {
    throw new HeadgateError("HEADGATE_INVALID_OPTION", `${owner}: limits or a limiter is required`);
  }
  if (isTierPolicy(limits)) return tierLimiters(owner, limits, options, extended);
  const made = createLimiter({
    name,
    limits: limits as Policy,
    store,
    extends: extended,
    ...limiterOptionsOf(options),
  });
  return oneLimiter(made, () => made.close());
}

function oneLimiter(only: Limiter, close: () => Promise<void>): GuardLimiters {
  return { only, tiers: new Map(), all: [only], of: () => only, close };
}

function tierLimiters<Request>(
  owner: string,
  policy: TierPolicy,
  options: GuardOptions<Request>,
  extended: Limiter | undefined,
): GuardLimiters {
  const { name, store: given } = options;
  requireTiers(policy);
  if (given !== undefined) requireName(name);
  // All tiers share one store, also when it is one of their own.
  const store = given ?? memoryStore();
  const tiers = new Map<string, Limiter>();
  const close = async (): Promise<void> => {
    await Promise.all([...tiers.values()].map((limiter) => limiter.close()));
  };
  try {
    for (const [tier, limits] of Object.entries(policy.tiers)) {
      const made = createLimiter({
        name: `${name ?? "limiter"} (${tier})`,
        limits,
        store,
        extends: extended,
        ...limiterOptionsOf(options),
      });
      tiers.set(tier, made);
    }
  } catch (error) {
    void close();
    throw error;
  }
  return {
    only: undefined,
    tiers,
    all: [...tiers.values()],
    async of(request) {
      const tier: unknown = await policy.select(request as never);
      const limiter = tiers.get(tier as string);
      if (limiter !== undefined) return limiter;
      throw new HeadgateError(
        "HEADGATE_UNKNOWN_TIER",
        `${owner}: the tier of this request is none of those configured`,
        { cause: { tier, tiers: [...tiers.keys()] } },
      );
    },
    close,
  };
}

function rejectBeside<Request>(owner: string, options: GuardOptions<Request>): void {
  for (const option of ["limits", "store", "name", ...LIMITER_OPTIONS] as const) {
    if (options[option] === undefined) continue;
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `${owner}: limiter stands in place of limits and all that belongs to them; got ${option} as well`,
    );
  }
}
