import type { GuardOptions } from "@headgate/core/http";
import type { GuardSettings } from "@headgate/core/internal-http";
import { parseGuardOptions } from "@headgate/core/internal-http";
import type { OnApplicationBootstrap, OnModuleDestroy } from "@nestjs/common";
import { Inject } from "@nestjs/common";
import { ContextGuard, OWNER } from "./context-guard.ts";
import { costOf } from "./decorators.ts";
import type { NestRequest } from "./limited-context.ts";
import type { RateLimitOptions } from "./options.ts";

/** The token of the module's options. */
export const OPTIONS: unique symbol = Symbol.for("@headgate/nestjs.options") as never;

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
    if (this.settings.hasLimits) this.guard = new ContextGuard(OWNER, own, { costOf });
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
