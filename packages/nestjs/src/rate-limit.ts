import type { GuardOptions } from "@headgate/core/http";
import type { CheckedGuardTimes, GuardSettings } from "@headgate/core/internal-http";
import type {
  CanActivate,
  ExecutionContext,
  OnApplicationBootstrap,
  OnModuleDestroy,
  Type,
} from "@nestjs/common";
import { Inject, mixin, Optional, UseGuards } from "@nestjs/common";
import type { ContextGuard } from "./context-guard.ts";
import { createContextGuard } from "./context-guard.ts";
import type { GuardLevel } from "./decorators.ts";
import { isSkipped } from "./decorators.ts";
import { ModuleLimit } from "./headgate-module.ts";
import type { NestRequest } from "./limited-context.ts";
import type { RateLimitOptions } from "./options.ts";

/**
 * Limits a controller, a route, a resolver or the message of a gateway, in addition to the limit of the application. It inherits
 * from `HeadgateModule` the store and all options but the limits, and its default name is `limiter Class.method`. Invalid
 * options are an error when the application starts.
 */
export function RateLimit<
  const Dimension extends string = never,
  const Text extends string = string,
>(
  options: RateLimitOptions<Dimension> & CheckedGuardTimes<Text>,
): MethodDecorator & ClassDecorator {
  // biome-ignore lint/suspicious/noExplicitAny: a class, or a method of any type.
  return (target: any, method?: string | symbol, descriptor?: TypedPropertyDescriptor<any>) => {
    const isRoute = descriptor !== undefined;
    const handlerName = isRoute ? `${target.constructor.name}.${String(method)}` : target.name;
    const level = isRoute ? "route" : "controller";
    UseGuards(createGuardClass(options, handlerName, level))(
      target,
      method as string,
      descriptor as never,
    );
  };
}

/** Creates the class of a guard, which Nest instantiates once for each module that uses it. */
function createGuardClass(
  options: RateLimitOptions,
  handlerName: string,
  level: GuardLevel,
): Type<CanActivate> {
  class RateLimitGuard implements CanActivate, OnApplicationBootstrap, OnModuleDestroy {
    readonly #guard: ContextGuard;

    constructor(application?: ModuleLimit) {
      const inherited = application?.settings;
      const own = inheritOptions(options, handlerName, inherited) as GuardOptions<NestRequest>;
      this.#guard = createContextGuard(`RateLimit on ${handlerName}`, own, { inherited });
    }

    canActivate(context: ExecutionContext): boolean | Promise<boolean> {
      return isSkipped(context, level) || this.#guard.decide(context);
    }

    async onApplicationBootstrap(): Promise<void> {
      await this.#guard.ready();
    }

    onModuleDestroy(): Promise<void> {
      return this.#guard.close();
    }
  }
  Inject(ModuleLimit)(RateLimitGuard, undefined, 0);
  Optional()(RateLimitGuard, undefined, 0);
  return mixin(RateLimitGuard);
}

/** Inherits the store, a name in it, and the options for its outages. `parseGuardOptions` inherits the rest. */
function inheritOptions(
  options: RateLimitOptions,
  handlerName: string,
  inherited: GuardSettings<NestRequest> | undefined,
): RateLimitOptions {
  if (inherited === undefined || options?.limiter !== undefined) return options;
  const { store, name = "limiter", limiterOptions } = inherited;
  const own = { ...limiterOptions, ...options };
  if (store === undefined) return own;
  return { ...own, store: options.store ?? store, name: options.name ?? `${name} ${handlerName}` };
}
