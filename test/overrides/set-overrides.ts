import type { Redis } from "ioredis";
import { recordKeyOf } from "../../packages/core/src/control/control-keys.ts";
import type { Override } from "../../packages/core/src/control/record.ts";
import { writeRecord } from "../../packages/core/src/control/record.ts";

const IN_FORCE_AFTER = 2_000_000;

export type Terms = Pick<Override, "subject" | "limits" | "shadow"> & {
  readonly limiter?: string;
  readonly forMs?: number;
};

export interface SetAt {
  readonly at: number;
  readonly inForceAt: number;
}

export async function setOverrides(client: Redis, terms: readonly Terms[]): Promise<SetAt> {
  const [seconds, micros] = await client.time();
  const at = Number(seconds) * 1_000_000 + Number(micros);
  const overrides = terms.map(({ forMs, ...one }) => ({
    limiter: "api",
    ...one,
    from: at + IN_FORCE_AFTER,
    until: forMs === undefined ? null : at + IN_FORCE_AFTER + forMs * 1_000,
  }));
  await client.set(recordKeyOf("hg"), writeRecord({ version: at, overrides, orders: [] }));
  return { at, inForceAt: at + IN_FORCE_AFTER };
}
