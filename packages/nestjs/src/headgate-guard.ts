import type { Limiter } from "@headgate/core";
import type { GuardOptions, RequestDecision } from "@headgate/core/http";
import type { GuardSettings } from "@headgate/core/internal-http";
import { invalidOption, parseGuardOptions } from "@headgate/core/internal-http";
import type {
  CanActivate,
  ExecutionContext,
  OnApplicationBootstrap,
  OnModuleDestroy,
} from "@nestjs/common";
import { Inject } from "@nestjs/common";
import { ContextGuard } from "./context-guard.ts";
import { costOf, isSkipped } from "./decorators.ts";
import type { NestRequest } from "./limited-context.ts";
import type { RateLimitOptions } from "./options.ts";

/** The token of the module's options. */
export const OPTIONS: unique symbol = Symbol.for("@headgate/nestjs.options") as never;

const OWNER = "HeadgateModule";

/** The parsed options of each module. */
const settings = new WeakMap<HeadgateGuard, GuardSettings<NestRequest>>();

/** The settings that `@RateLimit` inherits; undefined without a module. */
export function settingsOf(
  guard: HeadgateGuard | undefined,
): GuardSettings<NestRequest> | undefined {
  return guard && settings.get(guard);
}

/** The limit for the whole application, and the defaults of `@RateLimit`. Inject it to reset a client or to read a decision. */
export class HeadgateGuard implements CanActivate, OnApplicationBootstrap, OnModuleDestroy {
  readonly #guard: ContextGuard | undefined;

  constructor(options: RateLimitOptions) {
    const own = parseGuardOptions(OWNER, options as GuardOptions<NestRequest>);
    settings.set(this, own);
    if (!own.hasLimits) return;
    this.#guard = new ContextGuard(OWNER, options as GuardOptions<NestRequest>, { costOf });
  }

  /** The limiter, for `reset`, `charge`, `peek`. Throws `HEADGATE_INVALID_OPTION` where the module has no limits, or tiers. */
  get limiter(): Limiter {
    const { limiter } = this.#guard ?? {};
    if (limiter !== undefined) return limiter;
    const what = this.#guard === undefined ? "no limits" : "limits by tier; use tiers";
    throw invalidOption(`${OWNER}: the module has ${what}`);
  }

  /** The limiter of each tier, where the limits are `byTier`. */
  get tiers(): ReadonlyMap<string, Limiter> {
    return this.#guard?.tiers ?? new Map();
  }

  /** The decision on a request, or on the `info` of a GraphQL field; undefined if the limiter was not called. */
  decisionOf(target: object): RequestDecision | undefined {
    return this.#guard?.decisionOf(target);
  }

  /**
   * Deletes the usage and blocks of a request's client at the module's limiter, in the dimensions of the option `resetDimensions`:
   * after a good login, for example. Resolves with true if something was deleted; with false also while the store is unavailable.
   * Rejects with `HEADGATE_INVALID_OPTION` without that option, and otherwise with the same errors as `limiter.reset`.
   */
  async resetClient(target: object): Promise<boolean> {
    return (await this.#guard?.resetClient(target)) ?? false;
  }

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    if (this.#guard === undefined || isSkipped(context, "application")) return true;
    return this.#guard.decide(context);
  }

  /** Prepares the store for the first request. An unavailable store does not keep the application from starting. */
  async onApplicationBootstrap(): Promise<void> {
    await this.#guard?.ready();
  }

  async onModuleDestroy(): Promise<void> {
    await this.#guard?.close();
  }
}
Inject(OPTIONS)(HeadgateGuard, undefined, 0);
