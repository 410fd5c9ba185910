import { HeadgateError, invalidOption } from "../common/errors.ts";
import type { BlockOn, Policy } from "../common/policy.ts";
import type { Awaitable } from "../common/type-guards.ts";
import { isPromiseLike } from "../common/type-guards.ts";
import { createLimiterForPlugin } from "../limiter/create-limiter.ts";
import type { Limiter } from "../limiter/limiter.ts";
import type { LimiterWithInternals } from "../limiter/limiter-internals.ts";
import { requireLimiter } from "../limiter/limiter-internals.ts";
import { requireName } from "../policy/names.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { CountingStore, Store } from "../store/store.ts";
import { requireStore } from "../store/store.ts";
import { countsAll } from "./count-option.ts";
import type { GuardSettings } from "./parse-guard-options.ts";
import { LIMITER_OPTIONS } from "./parse-guard-options.ts";
import type { RequestPolicy, TierPolicy } from "./request-limits.ts";
import { isRequestPolicy, isTierPolicy, readLimits } from "./request-limits.ts";

/** The limiter chosen for a request. */
export interface LimiterChoice {
  readonly limiter: LimiterWithInternals;
  /** Limits for this request only; undefined for the limiter's own. */
  readonly limits: Policy | undefined;
}

/** The limiters that a guard's settings describe: one, or one for each tier. */
export interface GuardLimiters {
  /** The one limiter; undefined if there are tiers. */
  readonly single: LimiterWithInternals | undefined;
  readonly tiers: ReadonlyMap<string, LimiterWithInternals>;
  readonly all: readonly LimiterWithInternals[];
  /**
   * Chooses the limiter of a request, null for no limit; undefined if all requests have the same. Throws or rejects with
   * `HEADGATE_UNKNOWN_TIER`, `HEADGATE_INVALID_LIMIT`.
   */
  readonly choose: ((request: unknown) => Awaitable<LimiterChoice | null>) | undefined;
  /** Closes the limiters that were created here; one that was passed in stays open. */
  close(): Promise<void>;
}

/** The settings that describe limiters. */
export type LimiterSettings = Pick<
  GuardSettings<never>,
  "name" | "limits" | "limiter" | "store" | "limiterOptions" | "count"
>;

/**
 * Creates the limiters that settings describe; `extended` is decided together with each. `plugin` is the name of the Fastify plugin with which a
 * route's name begins. Throws the errors of `createLimiter`.
 */
export function createGuardLimiters(
  owner: string,
  settings: LimiterSettings,
  extended?: Limiter,
  plugin?: string,
): GuardLimiters {
  const { limiter, limits, limiterOptions, count } = settings;
  const parent = extended === undefined ? undefined : requireLimiter(extended);
  if (limiter !== undefined) {
    rejectLimiterConflicts(owner, settings);
    return singleLimiter(requireLimiter(limiter), async () => {});
  }
  if (limits === undefined) throw invalidOption(`${owner}: limits or a limiter is required`);
  const make: LimiterFactory = (own, more) => {
    const { name, store } = { ...settings, ...more };
    const blockOn: BlockOn = countsAll(count) ? "denial" : "settle";
    const options = { name, limits: own, store, extends: extended, blockOn, ...limiterOptions };
    return createLimiterForPlugin(options, plugin);
  };
  if (isTierPolicy(limits)) return tierLimiters(owner, limits, settings, parent, make);
  if (isRequestPolicy(limits)) return requestLimiter(owner, limits, settings, parent, make);
  const made = make(limits as Policy);
  return singleLimiter(made, () => made.close());
}

/** Prepares the stores of limiters. Resolves with whether all of them are available. */
export async function waitUntilReady(limiters: readonly Limiter[]): Promise<boolean> {
  const answers = await Promise.all(limiters.map((limiter) => limiter.ready()));
  return answers.every(Boolean);
}

/**
 * The store of options without limits, for limiters created on it later; a new one if none is given. Throws
 * `HEADGATE_INVALID_OPTION`.
 */
export function readStore({ store, name }: Pick<LimiterSettings, "store" | "name">): CountingStore {
  if (store !== undefined || name !== undefined) requireName(name);
  return requireStore(store === undefined ? memoryStore() : store);
}

/** Creates a limiter of these limits with the settings' name and store, or with others. */
type LimiterFactory = (
  limits: Policy,
  place?: { readonly name: string; readonly store: Store },
) => LimiterWithInternals;

function singleLimiter(single: LimiterWithInternals, close: () => Promise<void>): GuardLimiters {
  return { single, tiers: new Map(), all: [single], choose: undefined, close };
}

/** The choice for a request without limits of its own: only the extended limiter. */
function chooseExtended(extended: LimiterWithInternals | undefined): LimiterChoice | null {
  return extended === undefined ? null : { limiter: extended, limits: undefined };
}

/** One limiter, whose limits are chosen for each request. */
function requestLimiter(
  owner: string,
  policy: RequestPolicy,
  { limiterOptions }: LimiterSettings,
  extended: LimiterWithInternals | undefined,
  make: LimiterFactory,
): GuardLimiters {
  if (limiterOptions.lease !== undefined) {
    throw invalidOption(
      `${owner}: lease cannot be used with perRequest, because it takes units in advance and needs fixed limits; leave one of them out`,
    );
  }
  const only = make(policy.base);
  const unlimited = chooseExtended(extended);

  function choiceOf(returned: unknown): LimiterChoice | null {
    const limits = readLimits(owner, returned);
    return limits === null ? unlimited : { limiter: only, limits };
  }

  return {
    ...singleLimiter(only, () => only.close()),
    all: extended === undefined ? [only] : [only, extended],
    choose(request) {
      const returned: unknown = policy.limitsOf(request as never);
      if (!isPromiseLike(returned)) return choiceOf(returned);
      return Promise.resolve(returned).then(choiceOf);
    },
  };
}

function tierLimiters(
  owner: string,
  policy: TierPolicy,
  { name, store: given }: LimiterSettings,
  extended: LimiterWithInternals | undefined,
  make: LimiterFactory,
): GuardLimiters {
  if (given !== undefined) requireName(name);
  // All tiers share one store, even if it was created here.
  const store = given ?? memoryStore();
  const tiers = new Map<string, LimiterWithInternals>();
  const choices = new Map<string, LimiterChoice | null>();
  const close = async (): Promise<void> => {
    await Promise.all([...tiers.values()].map((limiter) => limiter.close()));
  };
  try {
    for (const [tier, limits] of Object.entries(policy.tiers)) {
      if (limits === null) {
        choices.set(tier, chooseExtended(extended));
        continue;
      }
      const limiter = make(limits, { name: `${name ?? "limiter"} (${tier})`, store });
      tiers.set(tier, limiter);
      choices.set(tier, { limiter, limits: undefined });
    }
  } catch (error) {
    void close();
    throw error;
  }

  function choiceOf(tier: unknown): LimiterChoice | null {
    const choice = choices.get(tier as string);
    if (choice !== undefined) return choice;
    throw new HeadgateError(
      "HEADGATE_UNKNOWN_TIER",
      `${owner}: the tier of this request is not one of the configured tiers`,
      { cause: { tier, tiers: [...choices.keys()] } },
    );
  }

  return {
    single: undefined,
    tiers,
    all: [...new Set([...tiers.values(), ...limitersIn(choices)])],
    choose(request) {
      const tier: unknown = policy.select(request as never);
      return isPromiseLike(tier) ? Promise.resolve(tier).then(choiceOf) : choiceOf(tier);
    },
    close,
  };
}

function limitersIn(choices: ReadonlyMap<string, LimiterChoice | null>): LimiterWithInternals[] {
  return [...choices.values()].flatMap((choice) => choice?.limiter ?? []);
}

function rejectLimiterConflicts(owner: string, settings: LimiterSettings): void {
  const given = (["limits", "store", "name"] as const).find((name) => settings[name] !== undefined);
  const option =
    given ?? LIMITER_OPTIONS.find((name) => settings.limiterOptions[name] !== undefined);
  if (option === undefined) return;
  throw invalidOption(
    `${owner}: limiter replaces limits and their options; got ${option} as well, which must be given where the limiter is created`,
  );
}
