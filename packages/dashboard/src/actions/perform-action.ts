import type {
  ActionResult as Acted,
  ActionOptions,
  BreakerOrderState,
  DeniedNetwork,
  ForgetResult,
  Inspection,
  LimiterVersion,
  NewOverride,
} from "@headgate/core/admin";
import {
  dimensionsOf,
  formatBlockImpact,
  formatDenyListImpact,
  formatOverrideImpact,
  formatSubject,
  limiterVersionsOf,
  overrideCoverageOf,
  previewOrder,
  requireCompatible,
} from "@headgate/core/admin";
import type { Action } from "../api.ts";
import { readTarget, unknownBreaker, useBreaker } from "../breakers.ts";
import { pluralize } from "../counts.ts";
import type { FleetReader } from "../fleet-reader.ts";
import { describeOverride, formatIgnoredReasons, formatInspection } from "../format/state.ts";
import { endMs, formatEnd } from "../format/time.ts";
import type { BreakerLike, BreakerTargetLike, TargetSnapshot } from "../options.ts";
import { badRequest, unknownLimiter, withInputErrors } from "../serve/http-error.ts";
import type { PreviewedState } from "./preview-tokens.ts";

/** The result of an action, or of its preview. */
export interface ActionOutcome {
  /** The states as text, one line each. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly effectiveAt: Date;
  readonly state: PreviewedState;
  /** In a preview: whom the action would affect, as sentences; missing if that is no question. */
  readonly impact?: readonly string[] | undefined;
}

export interface ActionContext {
  readonly reader: FleetReader;
  readonly createBreaker: ((options: never) => BreakerLike) | undefined;
}

type ActionOf<Kind extends Action["kind"]> = Extract<Action, { kind: Kind }>;

/** Performs an action or, with `dryRun`, determines its effect. Rejects with an `HttpError` or an error of the store. */
export function performAction(
  context: ActionContext,
  action: Action,
  options: ActionOptions,
): Promise<ActionOutcome> {
  switch (action.kind) {
    case "block":
    case "unblock":
    case "reset":
    case "forget":
      return actOnSubject(context.reader, action, options);
    case "setOverride":
      return setOverride(context.reader, action, options);
    case "unsetOverride":
      return unsetOverride(context.reader, action, options);
    case "addToDenyList":
    case "removeFromDenyList":
      return actOnDenyList(context.reader, action, options);
    case "breaker":
      return actOnBreaker(context, action, options);
  }
}

/** Acts on a subject of a limiter, for each policy if processes have policies with different counters. */
async function actOnSubject(
  reader: FleetReader,
  action: ActionOf<"block" | "unblock" | "reset" | "forget">,
  options: ActionOptions,
): Promise<ActionOutcome> {
  const { admin } = reader;
  const { limiter: name, subject } = action;
  const done: (Acted<Inspection> & Partial<ForgetResult>)[] = [];
  for (const { limiter } of await policiesCounting(reader, name, Object.keys(subject))) {
    done.push(
      action.kind === "block"
        ? await admin.block(limiter, subject, `${action.forMs}ms`, options)
        : await admin[action.kind](limiter, subject, options),
    );
  }
  const now = await reader.serverTime();
  const befores = done.map(({ before }) => before);
  const blocks = befores.flatMap((one) => one.blocks);
  return {
    before: befores.flatMap((before) => formatInspection(before, now)),
    after: [
      ...done.flatMap(({ after }) => formatInspection(after, now)),
      ...done.flatMap(formatForgotten),
    ],
    effectiveAt: done.at(-1)?.effectiveAt ?? new Date(now),
    ...(action.kind === "block" && options.dryRun === true
      ? { impact: [formatBlockImpact(await reader.loadRecentUsage(name), name, subject)] }
      : {}),
    // Usage changes with each request, and is left out.
    state: {
      facts: JSON.stringify([
        befores.map(({ limits }) => limits.map(({ name: limit, per }) => [limit, per])),
        blocks.map(({ per, limit }) => [per, limit ?? null]),
      ]),
      blockEnds: blocks.map(({ endsInMs }) => now + endsInMs),
    },
  };
}

/** The policies of a limiter that count by the dimensions of a subject; of those with the same counters, one. */
async function policiesCounting(
  { loadRegistry }: FleetReader,
  name: string,
  subjectDimensions: readonly string[],
): Promise<readonly LimiterVersion[]> {
  const { limiters } = await loadRegistry();
  if (!limiters.some((one) => one.name === name)) throw unknownLimiter();
  const known = limiterVersionsOf(limiters, name);
  if (known.length === 0) {
    throw badRequest(
      "the limiter's policy is too long to be listed: use the headgate command instead",
    );
  }
  const matching = known.filter(({ limiter: { limits } }) => {
    const dimensions = dimensionsOf(limits);
    return subjectDimensions.every((dimension) => dimensions.includes(dimension));
  });
  if (matching.length === 0) throw badRequest("the limiter does not count by this dimension");
  return [...new Map(matching.map((one) => [one.counterIdentity, one])).values()];
}

/** The data that `forget` erases in addition to counters. */
function formatForgotten({
  overrides = [],
  redactedLogEntries = 0,
  clearedLists = 0,
}: Partial<ForgetResult>) {
  return [
    ...overrides.map(
      (one) =>
        `override removed: ${formatSubject(one.subject, "all clients")}: ${describeOverride(one)}`,
    ),
    ...(redactedLogEntries > 0
      ? [`taken out of ${pluralize(redactedLogEntries, "entry", "entries")} of the log`]
      : []),
    ...(clearedLists > 0 ? [`taken out of ${pluralize(clearedLists, "list")} of usage`] : []),
  ];
}

/** Sets an override. Rejects if it fits no policy of the limiter, of any shape. */
async function setOverride(
  { admin, loadRegistry, loadControl, loadRecentUsage }: FleetReader,
  { limiter, subject, limits, shadow, forMs }: ActionOf<"setOverride">,
  options: ActionOptions,
): Promise<ActionOutcome> {
  const override: NewOverride = { limiter, ...(subject && { subject }), limits, shadow };
  const listed = await loadRegistry();
  if (!listed.limiters.some(({ name }) => name === limiter)) throw unknownLimiter();
  const versions = limiterVersionsOf(listed.limiters, limiter);
  await withInputErrors(() => requireCompatible(versions, override));
  const coverage = overrideCoverageOf(override, listed);
  const notes = coverage.state === "in-force" ? [] : formatIgnoredReasons(coverage);
  const done = await admin.setOverride(override, { ...options, for: durationOf(forMs) });
  const { after, ...outcome } = toOutcome(done, describeOverride);
  const shown = { ...outcome, after: [...after, ...notes.map((note) => `ignored: ${note}`)] };
  if (options.dryRun !== true) return shown;
  const [usage, { record }] = await Promise.all([loadRecentUsage(limiter), loadControl()]);
  const policies = versions.map((one) => one.limiter.limits);
  return { ...shown, impact: formatOverrideImpact(usage, policies, override, record.overrides) };
}

/** Removes an override. A limiter that no process has any more may still have one. */
async function unsetOverride(
  { admin, loadRegistry, loadControl }: FleetReader,
  { limiter, subject }: ActionOf<"unsetOverride">,
  options: ActionOptions,
): Promise<ActionOutcome> {
  const [{ limiters }, { record }] = await Promise.all([loadRegistry(), loadControl()]);
  const isKnown =
    limiters.some(({ name }) => name === limiter) ||
    record.overrides.some((one) => one.limiter === limiter);
  if (!isKnown) throw unknownLimiter();
  const done = await admin.unsetOverride({ limiter, ...(subject && { subject }) }, options);
  return toOutcome(done, describeOverride);
}

/** Adds a network to the deny list of the prefix, or removes it. */
async function actOnDenyList(
  { admin, loadRecentUsage }: FleetReader,
  action: ActionOf<"addToDenyList" | "removeFromDenyList">,
  options: ActionOptions,
): Promise<ActionOutcome> {
  const done =
    action.kind === "removeFromDenyList"
      ? await admin.removeFromDenyList(action.network, options)
      : await admin.addToDenyList(action.network, { ...options, for: durationOf(action.forMs) });
  const outcome = toOutcome(done, (entry: DeniedNetwork | undefined) =>
    entry === undefined
      ? "not on the deny list"
      : `${entry.network}: 403 in every HTTP limiter, ${formatEnd(endMs(entry.until))}`,
  );
  if (options.dryRun !== true || action.kind === "removeFromDenyList") return outcome;
  return { ...outcome, impact: [formatDenyListImpact(await loadRecentUsage(), action.network)] };
}

function durationOf(forMs: number | null): "forever" | `${number}ms` {
  return forMs === null ? "forever" : `${forMs}ms`;
}

/** The outcome of an action on a record that is stored as a whole. */
function toOutcome<State>(
  { before, after, effectiveAt }: Acted<State>,
  format: (state: State) => string,
): ActionOutcome {
  return { before: [format(before)], after: [format(after)], effectiveAt, state: stateOf(before) };
}

function stateOf(value: unknown): PreviewedState {
  return { facts: JSON.stringify(value ?? null), blockEnds: [] };
}

/** Processes refresh the state of a target every second. */
const TARGET_REFRESH_MS = 1_000;

const ORDERS = {
  open: { give: (target) => target.forceOpen(), state: "forced-open" },
  close: { give: (target) => target.disable(), state: "disabled" },
  reset: { give: (target) => target.reset(), state: "closed" },
} as const satisfies Readonly<
  Record<
    ActionOf<"breaker">["order"],
    { give(target: BreakerTargetLike): Promise<void>; state: BreakerOrderState }
  >
>;

/** Gives an order to a target of a breaker. It stays in force until `reset`. */
async function actOnBreaker(
  { reader, createBreaker }: ActionContext,
  { breaker: name, target, order }: ActionOf<"breaker">,
  { dryRun, reason, by }: ActionOptions,
): Promise<ActionOutcome> {
  if (createBreaker === undefined) throw unknownBreaker();
  return useBreaker(reader, createBreaker, name, async (breaker) => {
    const controlled = breaker.for(target);
    const before = await readTarget(controlled);
    const { give, state } = ORDERS[order];
    let after = previewOrder(before, state);
    // Logged first: if Redis becomes unavailable in between, the operator can repeat the logged order, and no order is in force without an entry.
    const at = await reader.admin.logBreakerAction(
      { breaker: name, target: controlled.target, before, after },
      { reason, by, dryRun },
    );
    if (dryRun !== true) {
      await give(controlled);
      after = await readTarget(controlled);
    }
    return {
      before: [formatTarget(before)],
      after: [after.state],
      effectiveAt: new Date(at.getTime() + TARGET_REFRESH_MS),
      state: stateOf(before.state),
    };
  });
}

function formatTarget({ state, calls, successRate }: TargetSnapshot): string {
  const rate = successRate === null ? "" : `, ${Math.floor(successRate * 1_000) / 10}% succeeded`;
  return `${state}, ${pluralize(calls, "call")}${rate}`;
}
