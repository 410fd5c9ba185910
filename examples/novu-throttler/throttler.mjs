// The limits of an API like Novu's: each category of routes has one for each plan, and a bulk request costs as much as many single
// ones. A decorator of a route says its category, and another its cost.

import { byTier, tokenBucket } from "@headgate/nestjs";
import { UnauthorizedException } from "@nestjs/common";
import { Reflector } from "@nestjs/core";

/** Requests a minute, by category and plan, with some more at once. */
const LIMITS = {
  "trigger free": tokenBucket({ capacity: 6, refill: 5, every: "1m", name: "trigger" }),
  "trigger business": tokenBucket({ capacity: 60, refill: 50, every: "1m", name: "trigger" }),
  "global free": tokenBucket({ capacity: 3, refill: 2, every: "1m", name: "global" }),
  "global business": tokenBucket({ capacity: 30, refill: 20, every: "1m", name: "global" }),
};

/** The cost of a bulk request. */
export const BULK = 5;

/** Organisations by their API key. Yours would be in a database. @type {Map<string, { id: string, plan: "free" | "business" }>} */
const ORGANISATIONS = new Map([
  ["free-key", { id: "small", plan: "free" }],
  ["business-key", { id: "large", plan: "business" }],
]);

/** The category of a route or a controller: `"global"` unless it says another. @type {import("@nestjs/core").ReflectableDecorator<"trigger" | "global">} */
export const ThrottlerCategory = Reflector.createDecorator();

const reflector = new Reflector();

/** @param {import("@nestjs/common").ExecutionContext} context */
function organisationOf(context) {
  const { headers } = context.switchToHttp().getRequest();
  const organisation = ORGANISATIONS.get(String(headers["x-api-key"]));
  if (organisation === undefined) throw new UnauthorizedException("no such key");
  return organisation;
}

/**
 * The options of the module. In a dry run everything is counted and published, and nothing is denied.
 *
 * @returns {import("@headgate/nestjs").RateLimitOptions}
 */
export function throttling({ dryRun = false } = {}) {
  return {
    limits: byTier(LIMITS, (context) => {
      const targets = [context.getHandler(), context.getClass()];
      const category = reflector.getAllAndOverride(ThrottlerCategory, targets) ?? "global";
      return `${category} ${organisationOf(context).plan}`;
    }),
    key: (context) => organisationOf(context).id,
    shadow: dryRun,
  };
}
