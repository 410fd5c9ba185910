import type { Cost } from "@headgate/core";
import type { ExecutionContext } from "@nestjs/common";
import type { ReflectableDecorator } from "@nestjs/core";
import { Reflector } from "@nestjs/core";

/** The level at which a guard is used. */
export type GuardLevel = "application" | "controller" | "route";

/** Units, or a function that returns them. */
export type ContextCost = Cost | ((context: ExecutionContext) => Cost | Promise<Cost>);

/**
 * Skips the limits of outer levels: on a route those of its controller and of the application, on a controller those of the
 * application. A `@RateLimit` on the same level still applies. `@SkipRateLimit(false)` on a route restores limits that its
 * controller skips.
 */
export const SkipRateLimit: ReflectableDecorator<boolean | undefined, boolean> =
  Reflector.createDecorator<boolean | undefined, boolean>({
    transform: (skip) => skip ?? true,
  });

/**
 * The units that a route or a controller costs under the limit of the application: a number, units by the names of limits,
 * or a function of the context. It replaces the module's `cost`. A request with invalid units fails with
 * `HEADGATE_INVALID_COST`.
 */
export const RateLimitCost: ReflectableDecorator<ContextCost> =
  Reflector.createDecorator<ContextCost>();

const reflector = new Reflector();

/** Whether `@SkipRateLimit` skips a limit of this level. */
export function isSkipped(context: ExecutionContext, level: GuardLevel): boolean {
  if (level === "route") return false;
  const byRoute = reflector.get(SkipRateLimit, context.getHandler());
  if (level === "controller") return byRoute ?? false;
  return byRoute ?? reflector.get(SkipRateLimit, context.getClass()) ?? false;
}

/** The units of a context by its decorator; undefined without one. */
export function costOf(context: ExecutionContext): unknown {
  const cost =
    reflector.get(RateLimitCost, context.getHandler()) ??
    reflector.get(RateLimitCost, context.getClass());
  if (typeof cost !== "function") return cost;
  // A function that returns nothing must not cost the default.
  return cost(context) ?? null;
}
