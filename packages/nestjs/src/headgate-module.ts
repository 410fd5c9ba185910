import type { Limiter } from "@headgate/core";
import type { GuardOptions, RequestDecision } from "@headgate/core/http";
import type { CheckedGuardTimes, GuardSettings } from "@headgate/core/internal-http";
import { invalidOption, parseGuardOptions } from "@headgate/core/internal-http";
import type {
  CanActivate,
  DynamicModule,
  ExecutionContext,
  OnApplicationBootstrap,
  OnModuleDestroy,
  Provider,
} from "@nestjs/common";
import { Inject, Module } from "@nestjs/common";
import { APP_FILTER, APP_GUARD, ApplicationConfig, Reflector } from "@nestjs/core";
import type { ContextGuard } from "./context-guard.ts";
import { createContextGuard, OWNER } from "./context-guard.ts";
import { costOf, isSkipped } from "./decorators.ts";
import type { NestRequest } from "./limited-context.ts";
import type { HeadgateAsyncOptions, HeadgateOptionsFactory, RateLimitOptions } from "./options.ts";
import { RateLimitFilter } from "./rate-limit-exception.ts";

/** The limit for the whole application, and the defaults of `@RateLimit`. Without limits it has only the defaults. */
// biome-ignore lint/complexity/noStaticOnlyClass: a module of Nest is a class.
export class HeadgateModule {
  /** Registers the module with these options. Invalid options are an error when the application starts. */
  static forRoot<const Dimension extends string = never, const Text extends string = string>(
    options: RateLimitOptions<Dimension> & CheckedGuardTimes<Text>,
  ): DynamicModule {
    return moduleWith([{ provide: OPTIONS, useValue: options }]);
  }

  /** Like `forRoot`, with options from a provider, such as a configuration service or a store. */
  static forRootAsync({
    imports = [],
    useFactory,
    inject = [],
    useClass,
    useExisting,
  }: HeadgateAsyncOptions): DynamicModule {
    if (useFactory !== undefined) {
      const providers = [{ provide: OPTIONS, useFactory, inject: [...inject] } as Provider];
      return moduleWith(providers, imports);
    }
    const factory = useClass ?? useExisting;
    if (factory === undefined) {
      throw new TypeError("HeadgateModule.forRootAsync needs useFactory, useClass or useExisting");
    }
    const options: Provider = {
      provide: OPTIONS,
      useFactory: (made: HeadgateOptionsFactory) => made.createHeadgateOptions(),
      inject: [factory],
    };
    return moduleWith(useClass === undefined ? [options] : [useClass, options], imports);
  }
}
Module({})(HeadgateModule);

/** The token of the module's options. */
const OPTIONS: unique symbol = Symbol.for("@headgate/nestjs.options") as never;

/** The limit of a module. Nest creates a `HeadgateGuard` for each module that names it in `@UseGuards`; all of them share this. */
export class ModuleLimit implements OnApplicationBootstrap, OnModuleDestroy {
  /** The defaults of `@RateLimit`. */
  readonly settings: GuardSettings<NestRequest>;
  /** Undefined for a module without limits. */
  readonly guard: ContextGuard | undefined;
  /** How many `HeadgateGuard`s there are: one, unless it is named in `@UseGuards`. */
  guards = 0;

  constructor(options: RateLimitOptions) {
    const own = options as GuardOptions<NestRequest>;
    this.settings = parseGuardOptions(OWNER, own);
    if (this.settings.hasLimits) this.guard = createContextGuard(OWNER, own, { costOf });
  }

  /** Prepares the store for the first request. An unavailable store does not keep the application from starting. */
  async onApplicationBootstrap(): Promise<void> {
    await this.guard?.ready();
  }

  async onModuleDestroy(): Promise<void> {
    await this.guard?.close();
  }
}
Inject(OPTIONS)(ModuleLimit, undefined, 0);

/**
 * The limit of the module. It runs for each route by itself, or where you name it: after a guard that authenticates, as in
 * `@UseGuards(AuthGuard, HeadgateGuard)`. Inject it to reset a client or to read a decision.
 */
export class HeadgateGuard implements CanActivate {
  readonly #limit: ModuleLimit;

  constructor(limit: ModuleLimit) {
    this.#limit = limit;
    limit.guards += 1;
  }

  /** The limiter, for `reset`, `charge`, `peek`. Throws `HEADGATE_INVALID_OPTION` where the module has no limits, or tiers. */
  get limiter(): Limiter {
    const { guard } = this.#limit;
    if (guard?.limiter !== undefined) return guard.limiter;
    const what = guard === undefined ? "no limits" : "limits by tier; use tiers";
    throw invalidOption(`${OWNER}: the module has ${what}`);
  }

  /** The limiter of each tier, where the limits are `byTier`. */
  get tiers(): ReadonlyMap<string, Limiter> {
    return this.#limit.guard?.tiers ?? new Map();
  }

  /** The decision on a request, or on the `info` of a GraphQL field; undefined if the limiter was not called. */
  decisionOf(target: object): RequestDecision | undefined {
    return this.#limit.guard?.decisionOf(target);
  }

  /**
   * Deletes the usage and blocks of a request's client at the module's limiter, in the dimensions of the option `resetDimensions`:
   * after a good login, for example. Resolves with true if something was deleted; with false also while the store is unavailable.
   * Rejects with `HEADGATE_INVALID_OPTION` without that option, and otherwise with the same errors as `limiter.reset`.
   */
  async resetClient(target: object): Promise<boolean> {
    return (await this.#limit.guard?.resetClient(target)) ?? false;
  }

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const { guard } = this.#limit;
    return guard === undefined || isSkipped(context, "application") || guard.decide(context);
  }
}
Inject(ModuleLimit)(HeadgateGuard, undefined, 0);

/** The key of Nest for the guards of `@UseGuards`, which it does not export from a public path. */
const GUARDS = "__guards__";

const reflector = new Reflector();

/** Runs the module's limit for routes that do not name `HeadgateGuard` themselves. */
class DefaultGuard implements CanActivate {
  readonly #guard: HeadgateGuard;
  readonly #limit: ModuleLimit;
  readonly #config: ApplicationConfig;

  constructor(guard: HeadgateGuard, limit: ModuleLimit, config: ApplicationConfig) {
    this.#guard = guard;
    this.#limit = limit;
    this.#config = config;
  }

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    return this.#runsLater(context) || this.#guard.canActivate(context);
  }

  /** Whether the application names `HeadgateGuard`: for all routes, or for this one or its controller. */
  #runsLater(context: ExecutionContext): boolean {
    if (this.#config.getGlobalGuards().some((guard) => guard instanceof HeadgateGuard)) return true;
    return (
      this.#limit.guards > 1 &&
      [context.getHandler(), context.getClass()].some((target) =>
        reflector.get<readonly unknown[] | undefined>(GUARDS, target)?.some(isHeadgateGuard),
      )
    );
  }
}
Inject(HeadgateGuard)(DefaultGuard, undefined, 0);
Inject(ModuleLimit)(DefaultGuard, undefined, 1);
Inject(ApplicationConfig)(DefaultGuard, undefined, 2);

/** Whether a guard of `@UseGuards` is a `HeadgateGuard`, or a class that extends it. */
function isHeadgateGuard(guard: unknown): boolean {
  if (typeof guard !== "function") return guard instanceof HeadgateGuard;
  return guard === HeadgateGuard || guard.prototype instanceof HeadgateGuard;
}

function moduleWith(
  options: readonly Provider[],
  imports: NonNullable<DynamicModule["imports"]> = [],
): DynamicModule {
  return {
    module: HeadgateModule,
    global: true,
    imports,
    providers: [
      ...options,
      ModuleLimit,
      HeadgateGuard,
      { provide: APP_GUARD, useClass: DefaultGuard },
      { provide: APP_FILTER, useClass: RateLimitFilter },
    ],
    exports: [HeadgateGuard, ModuleLimit],
  };
}
