import { HeadgateError } from "../errors.ts";
import { makeLimiter } from "../limiter/create-limiter.ts";
import type { Limiter, MadeLimiter } from "../limiter/limiter.ts";
import { requireMade } from "../limiter/limiter.ts";
import { requireName } from "../limiter/names.ts";
import { FAILURE_OPTIONS, failureOptionsOf } from "../limiter/outage/failure-options.ts";
import type { FailureOptions } from "../limiter/outage/outage.ts";
import type { Policy } from "../policy.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { Store } from "../store/store.ts";
import { requireStore } from "../store/store.ts";
import type { TierPolicy } from "./by-tier.ts";
import { isTierPolicy, requireTiers } from "./by-tier.ts";
import { countsAll } from "./count.ts";
import type { GuardOptions } from "./guard-options.ts";
import { isPromiseLike } from "./is-promise-like.ts";
import type { RequestPolicy } from "./per-request.ts";
import { isRequestPolicy, readLimits, requireLimitsOf } from "./per-request.ts";

/** Who decides a request. */
export interface Asked {
  readonly limiter: MadeLimiter;
  /** Its limits for this request; undefined where they are the limiter's own. */
  readonly limits: Policy | undefined;
}

/** The options that belong to a limiter, beside what it counts. */
export const LIMITER_OPTIONS: readonly (keyof FailureOptions | "maxQueue" | "shadow")[] = [
  ...FAILURE_OPTIONS,
  "maxQueue",
  "shadow",
];

/** These options out of more, and which answers count, which says what blocks. */
export function limiterOptionsOf<Request>(
  options: GuardOptions<Request>,
): FailureOptions & Pick<GuardOptions<Request>, "maxQueue" | "shadow" | "count"> {
  const { maxQueue, shadow, count } = options;
  return { ...failureOptionsOf(options), maxQueue, shadow, count };
}

/** The limiters that a set of options describes: one, or one for each tier. */
export interface GuardLimiters {
  /** The one limiter, when limits do not depend on the request. */
  readonly only: MadeLimiter | undefined;
  /** The limiter of each tier, when they do. */
  readonly tiers: ReadonlyMap<string, MadeLimiter>;
  readonly all: readonly MadeLimiter[];
  /** Whether the limits of `only` depend on the request. */
  readonly isPerRequest: boolean;
  /**
   * Who decides a request, null where nobody does; a promise where that depends on the request. Throws or rejects with
   * `HEADGATE_UNKNOWN_TIER`, `HEADGATE_INVALID_LIMIT`.
   */
  of(request: unknown): Asked | null | Promise<Asked | null>;
  /** Closes those that were made here; one that was handed in stays open. */
  close(): Promise<void>;
}

/**
 * Makes the limiters that options describe; `extended` is decided together with each. `plugin` is the Fastify plugin that gave a
 * route its name. Throws what `createLimiter` throws.
 */
export function makeGuardLimiters<Request>(
  owner: string,
  options: GuardOptions<Request>,
  extended?: Limiter,
  plugin?: string,
): GuardLimiters {
  const { limiter, limits } = options;
  const parent = extended === undefined ? undefined : requireMade(extended);
  if (limiter !== undefined) {
    rejectBeside(owner, options);
    return oneLimiter(requireMade(limiter), async () => {});
  }
  if (limits === undefined) {
    throw new HeadgateError("HEADGATE_INVALID_OPTION", `${owner}: limits or a limiter is required`);
  }
  const make: MakeLimiter = (own, more) => {
    const { name, store } = { ...options, ...more };
    const { count, ...rest } = limiterOptionsOf(options);
    const blockOn = countsAll(count) ? "denial" : "settle";
    return makeLimiter({ name, limits: own, store, extends: extended, blockOn, ...rest }, plugin);
  };
  if (isTierPolicy(limits)) return tierLimiters(owner, limits, options, parent, make);
  if (isRequestPolicy(limits)) return requestLimiter(owner, limits, options, parent, make);
  const made = make(limits as Policy);
  return oneLimiter(made, () => made.close());
}

/** Prepares the stores of limiters, and resolves with whether all answered. */
export async function areReady(limiters: readonly Limiter[]): Promise<boolean> {
  const answers = await Promise.all(limiters.map((limiter) => limiter.ready()));
  return answers.every(Boolean);
}

/** Makes a limiter of these limits, as options say, or with another name and store. */
type MakeLimiter = (
  limits: Policy,
  place?: { readonly name: string; readonly store: Store },
) => MadeLimiter;

/** The store that options without limits name, for limiters made on it later, or one of its own. Throws `HEADGATE_INVALID_OPTION`. */
export function readStore({ store, name }: Pick<GuardOptions<never>, "store" | "name">): Store {
  if (store !== undefined || name !== undefined) requireName(name);
  if (store === undefined) return memoryStore();
  requireStore(store);
  return store;
}

function oneLimiter(only: MadeLimiter, close: () => Promise<void>): GuardLimiters {
  const asked = ownLimitsOf(only);
  return { only, tiers: new Map(), all: [only], isPerRequest: false, of: () => asked, close };
}

function ownLimitsOf(limiter: MadeLimiter): Asked {
  return { limiter, limits: undefined };
}

/** Who decides a request without limits: nobody but the limiter that is decided together with its own. */
function withoutLimits(extended: MadeLimiter | undefined): Asked | null {
  return extended === undefined ? null : ownLimitsOf(extended);
}

/** One limiter, whose limits are those of a request. */
function requestLimiter<Request>(
  owner: string,
  policy: RequestPolicy,
  options: GuardOptions<Request>,
  extended: MadeLimiter | undefined,
  make: MakeLimiter,
): GuardLimiters {
  requireLimitsOf(policy);
  if (options.lease !== undefined) {
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `${owner}: lease cannot be used with perRequest, because it takes units ahead and needs fixed limits; leave one of them out`,
    );
  }
  const only = make(policy.base);
  const unlimited = withoutLimits(extended);

  function askedOf(returned: unknown): Asked | null {
    const limits = readLimits(owner, returned);
    return limits === null ? unlimited : { limiter: only, limits };
  }

  return {
    ...oneLimiter(only, () => only.close()),
    all: extended === undefined ? [only] : [only, extended],
    isPerRequest: true,
    of(request) {
      const returned: unknown = policy.limitsOf(request as never);
      return isPromiseLike(returned) ? later(returned, askedOf) : askedOf(returned);
    },
  };
}

async function later<T, U>(value: PromiseLike<T>, read: (value: T) => U): Promise<U> {
  return read(await value);
}

function tierLimiters<Request>(
  owner: string,
  policy: TierPolicy,
  options: GuardOptions<Request>,
  extended: MadeLimiter | undefined,
  make: MakeLimiter,
): GuardLimiters {
  const { name, store: given } = options;
  requireTiers(policy);
  if (given !== undefined) requireName(name);
  // All tiers share one store, also when it is one of their own.
  const store = given ?? memoryStore();
  const tiers = new Map<string, MadeLimiter>();
  const asked = new Map<string, Asked | null>();
  const close = async (): Promise<void> => {
    await Promise.all([...tiers.values()].map((limiter) => limiter.close()));
  };
  try {
    for (const [tier, limits] of Object.entries(policy.tiers)) {
      if (limits === null) {
        asked.set(tier, withoutLimits(extended));
        continue;
      }
      const place = { name: `${name ?? "limiter"} (${tier})`, store };
      const made = make(limits, place);
      tiers.set(tier, made);
      asked.set(tier, ownLimitsOf(made));
    }
  } catch (error) {
    void close();
    throw error;
  }
  return {
    only: undefined,
    tiers,
    all: [...new Set([...tiers.values(), ...limitersIn(asked)])],
    isPerRequest: false,
    async of(request) {
      const tier: unknown = await policy.select(request as never);
      const found = asked.get(tier as string);
      if (found !== undefined) return found;
      throw new HeadgateError(
        "HEADGATE_UNKNOWN_TIER",
        `${owner}: the tier of this request is not one of the configured tiers`,
        { cause: { tier, tiers: [...asked.keys()] } },
      );
    },
    close,
  };
}

function limitersIn(asked: ReadonlyMap<string, Asked | null>): MadeLimiter[] {
  return [...asked.values()].flatMap((one) => one?.limiter ?? []);
}

function rejectBeside<Request>(owner: string, options: GuardOptions<Request>): void {
  for (const option of ["limits", "store", "name", ...LIMITER_OPTIONS] as const) {
    if (options[option] === undefined) continue;
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `${owner}: limiter replaces limits and their options; got ${option} as well, which must be given where the limiter is made`,
    );
  }
}
