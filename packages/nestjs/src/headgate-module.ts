import type { CheckedGuardTimes } from "@headgate/core/internal-http";
import type { DynamicModule, Provider } from "@nestjs/common";
import { Module } from "@nestjs/common";
import { APP_FILTER, APP_GUARD } from "@nestjs/core";
import { DefaultGuard, HeadgateGuard } from "./headgate-guard.ts";
import { ModuleLimit, OPTIONS } from "./module-limit.ts";
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
