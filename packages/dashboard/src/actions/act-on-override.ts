import type { ActionOptions, NewOverride, Override } from "@headgate/core/admin";
import { limiterVersionsOf, overrideCoverageOf, requireCompatible } from "@headgate/core/admin";
import type { Action } from "../api.ts";
import type { FleetReader } from "../fleet-reader.ts";
import { describeOverride, formatIgnoredReasons } from "../format/override.ts";
import { unknownLimiter, withInputErrors } from "../serve/http-error.ts";
import type { ActionOutcome } from "./perform-action.ts";
import { stateOf } from "./previewed-state.ts";

type OverrideAction = Extract<Action, { kind: "setOverride" | "unsetOverride" }>;

/** Sets or removes an override. Rejects if it fits no policy of the limiter, of any shape. */
export async function actOnOverride(
  reader: FleetReader,
  action: OverrideAction,
  options: ActionOptions,
): Promise<ActionOutcome> {
  const { operator: admin, loadRegistry } = reader;
  const { kind, limiter, subject } = action;
  const key = subject === undefined ? { limiter } : { limiter, subject };
  if (kind === "unsetOverride") {
    await requireKnown(reader, limiter);
    return toOutcome(await admin.unsetOverride(key, options), []);
  }
  const { limits, shadow, forMs } = action;
  const override: NewOverride = { ...key, limits, shadow };
  const listed = await loadRegistry();
  if (!listed.limiters.some(({ name }) => name === override.limiter)) throw unknownLimiter();
  const versions = limiterVersionsOf(listed.limiters, override.limiter);
  await withInputErrors(() => requireCompatible(versions, override));
  const coverage = overrideCoverageOf(override, listed);
  const notes = coverage.state === "in-force" ? [] : formatIgnoredReasons(coverage);
  const durationOptions = {
    ...options,
    for: forMs === null ? "forever" : (`${forMs}ms` as const),
  } as const;
  return toOutcome(await admin.setOverride(override, durationOptions), notes);
}

/** Rejects for an unknown limiter. A limiter that no process has any more may still have an override. */
async function requireKnown(
  { loadRegistry, loadControl }: FleetReader,
  limiter: string,
): Promise<void> {
  const [{ limiters }, { record }] = await Promise.all([loadRegistry(), loadControl()]);
  const isListed = limiters.some(({ name }) => name === limiter);
  if (!isListed && !record.overrides.some((one) => one.limiter === limiter)) throw unknownLimiter();
}

function toOutcome(
  done: {
    readonly before: Override | undefined;
    readonly after: Override | undefined;
    readonly effectiveAt: Date;
  },
  notes: readonly string[],
): ActionOutcome {
  const describe = (one: Override | undefined): string =>
    one === undefined ? "no override" : describeOverride(one);
  return {
    before: [describe(done.before)],
    after: [describe(done.after), ...notes.map((note) => `ignored: ${note}`)],
    effectiveAt: done.effectiveAt,
    state: stateOf(done.before),
  };
}
