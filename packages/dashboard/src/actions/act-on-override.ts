import type { ActionOptions, NewOverride, Override } from "@headgate/core/operate";
import { limiterVersionsOf, overrideCoverageOf, requireCompatible } from "@headgate/core/operate";
import type { Action } from "../api.ts";
import { describeOverride, formatIgnored } from "../format/override.ts";
import type { Reading } from "../reading.ts";
import { unknownLimiter } from "../serve/refusal.ts";
import type { Performed } from "./perform.ts";
import { stateOf } from "./state.ts";

type OverrideAction = Extract<Action, { kind: "setOverride" | "unsetOverride" }>;

/** Sets or removes an override. One that fits no policy of its limiter, of any shape, is refused. */
export async function actOnOverride(
  reading: Reading,
  action: OverrideAction,
  options: ActionOptions,
): Promise<Performed> {
  const { operator: admin, directory } = reading;
  const { kind, limiter, subject } = action;
  const place = subject === undefined ? { limiter } : { limiter, subject };
  if (kind === "unsetOverride") {
    await requireKnown(reading, limiter);
    return toPerformed(await admin.unsetOverride(place, options), []);
  }
  const { limits, shadow, forMs } = action;
  const override: NewOverride = { ...place, limits, shadow };
  const listed = await directory();
  if (!listed.limiters.some(({ name }) => name === override.limiter)) throw unknownLimiter();
  requireCompatible(limiterVersionsOf(listed.limiters, override.limiter), override);
  const reach = overrideCoverageOf(override, listed);
  const notes = reach.state === "in-force" ? [] : formatIgnored(reach);
  const lasting = {
    ...options,
    for: forMs === null ? "forever" : (`${forMs}ms` as const),
  } as const;
  return toPerformed(await admin.setOverride(override, lasting), notes);
}

/** A limiter may have an override even if no process has the limiter any more. */
async function requireKnown({ directory, control }: Reading, limiter: string): Promise<void> {
  const [{ limiters }, { record }] = await Promise.all([directory(), control()]);
  const isListed = limiters.some(({ name }) => name === limiter);
  if (!isListed && !record.overrides.some((one) => one.limiter === limiter)) throw unknownLimiter();
}

function toPerformed(
  done: {
    readonly before: Override | undefined;
    readonly after: Override | undefined;
    readonly inForceAt: Date;
  },
  notes: readonly string[],
): Performed {
  const describe = (one: Override | undefined): string =>
    one === undefined ? "no override" : describeOverride(one);
  return {
    before: [describe(done.before)],
    after: [describe(done.after), ...notes.map((note) => `ignored: ${note}`)],
    inForceAt: done.inForceAt,
    state: stateOf(done.before),
  };
}
