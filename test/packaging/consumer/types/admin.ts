import { gcra } from "@headgate/core";
import type { ActionResult, Admin, Inspection, Override } from "@headgate/core/admin";
import { checkOverride, createAdmin } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";

const operator: Admin = createAdmin(redisStore(new Redis()), { storeTimeout: "1s" });
const api = { name: "api", limits: gcra({ limit: 10, window: "1m" }) };

export async function blockFor(subject: string): Promise<Date> {
  const { before, effectiveAt }: ActionResult<Inspection> = await operator.block(
    api,
    subject,
    "1h",
    {
      reason: "abuse",
    },
  );
  return before.blocked ? new Date() : effectiveAt;
}

export async function halve(tenant: string): Promise<Override | undefined> {
  const limits = { "10-per-1m": { limit: 5 } };
  const override = { limiter: api.name, subject: { default: tenant }, limits };
  checkOverride(api.limits, override);
  const { after } = await operator.setOverride(override, { for: "forever" });
  return after;
}

// @ts-expect-error a block has a length
void operator.block(api, "ann");
// @ts-expect-error a window cannot be overridden
void operator.setOverride({ limiter: "api", limits: { "10-per-1m": { window: "1h" } } });
// @ts-expect-error nor checked
checkOverride(api.limits, { limits: { "10-per-1m": { window: "1h" } } });
// @ts-expect-error a misspelt option
void operator.reset(api, "ann", { reasn: "a mistake" });
