import type { Decision, LimitState } from "@headgate/core";
import type {
  ActiveBlock,
  ControlRecord,
  DeniedNetwork,
  Inspection,
  LimiterDefinition,
  LimiterVersion,
  LogEntry,
  Registry,
  SubjectQuery,
} from "@headgate/core/admin";
import {
  dimensionsOf,
  GLOBAL_SUBJECT,
  hashSubject,
  limiterVersionsOf,
  overridesFor,
  queriedAddress,
} from "@headgate/core/admin";
import type {
  BlockRow,
  LimitRow,
  LogRow,
  OverrideRow,
  SubjectByDimension,
  SubjectStatus,
  SubjectView,
} from "../api.ts";
import type { FleetReader } from "../fleet-reader.ts";
import { describeLimit, namedLimitsOf } from "../format/policy.ts";
import { unknownLimiter } from "../serve/http-error.ts";
import { originOf, toDenyListRows, toOverrideRows } from "./control.ts";
import { toLogRow } from "./log.ts";
import type { ParsedLookup } from "./subject-lookup.ts";
import { deriveSubjects } from "./subject-lookup.ts";

const MAX_CONCURRENT_LOOKUPS = 16;

type LookupTask = readonly [version: LimiterVersion, subject: SubjectByDimension];

/**
 * The state of a subject in each visible limiter; `spend` is called with the number of lookups before they are made. Rejects with
 * an `HttpError` if the lookup names an unknown limiter.
 */
export async function buildSubjectView(
  reader: FleetReader,
  { query, client, limiter }: ParsedLookup,
  spend: (lookups: number) => Promise<void>,
): Promise<SubjectView> {
  const [registry, { record }, log, at] = await Promise.all([
    reader.loadRegistry(),
    reader.loadControl(),
    reader.loadLog(),
    reader.serverTime(),
  ]);
  const known = limiterVersionsOf(registry.limiters, limiter);
  if (limiter !== undefined && known.length === 0) throw unknownLimiter();
  const derived = await Promise.all(
    known.map(async (one) => ({ one, ...(await deriveSubjects(one, query, limiter)) })),
  );
  const tasks = derived.flatMap(({ one, subjects }) =>
    subjects.map((subject): LookupTask => [one, subject]),
  );
  await spend(tasks.length + 1);
  const denied = await denyListEntriesOf(reader, query);
  const context: SubjectContext = { at, record, registry, log: log.entries };
  const limiters: SubjectStatus[] = [];
  for (let i = 0; i < tasks.length; i += MAX_CONCURRENT_LOOKUPS) {
    const some = tasks.slice(i, i + MAX_CONCURRENT_LOOKUPS);
    limiters.push(
      ...(await Promise.all(some.map((one) => lookUpSubject(reader, one, denied, context)))),
    );
  }
  return {
    at,
    client,
    limiters,
    skipped: derived
      .filter(({ subjects }) => subjects.length === 0)
      .map(({ one, countsBy }) => ({ name: one.limiter.name, countsBy })),
    denyList: toDenyListRows(denied),
  };
}

/** The entries of the deny list that contain an address, or the first address of a subject's network. */
async function denyListEntriesOf(
  { findDenyListEntries }: FleetReader,
  query: SubjectQuery,
): Promise<readonly DeniedNetwork[]> {
  const address = queriedAddress(query);
  return address === undefined ? [] : findDenyListEntries(address);
}

async function lookUpSubject(
  { admin, loadBlocks }: FleetReader,
  [{ limiter, perCallPolicies, uses }, subject]: LookupTask,
  denied: readonly DeniedNetwork[],
  context: SubjectContext,
): Promise<SubjectStatus> {
  const { name, limits } = limiter;
  // A limit shared by all clients may deny this one.
  const isShared = dimensionsOf(limits).includes("global");
  const fullSubject = isShared ? { ...subject, global: GLOBAL_SUBJECT } : subject;
  const [used, decision, inspection] = await Promise.all([
    admin.peek(limiter, fullSubject, { cost: 0 }),
    admin.peek(limiter, fullSubject),
    admin.inspect(limiter, fullSubject),
  ]);
  const hasManualBlock = inspection.blocks.some(({ limit }) => limit === undefined);
  // Who set it is worth no failure of the rest.
  const known = hasManualBlock
    ? await loadBlocks().then(
        ({ blocks }) => blocks,
        () => [],
      )
    : [];
  const descriptions = new Map(
    limits
      .filter(({ per = "default" }) => Object.hasOwn(fullSubject, per))
      .map((limit, i) => [used.limits[i]?.name, describeLimit(limit)] as const),
  );
  const isDenied = denied.length > 0 && uses.length > 0;
  return {
    name,
    dimension: Object.keys(subject).join(", "),
    subject,
    limits: [
      ...used.limits.map((state, i) =>
        toLimitRow(state, decision.limits[i] ?? state, descriptions.get(state.name), context.at),
      ),
      // The limits of other shapes follow the limiter's own limits.
      ...inspection.limits
        .slice(used.limits.length)
        .map((state) =>
          toLimitRow(
            state,
            decisionForOneUnit(state),
            otherShapeDescription(perCallPolicies, state.name),
            context.at,
          ),
        ),
    ],
    blocks: toBlockRows(name, fullSubject, inspection, known, context.at),
    override: overrideFor(context, limiter, subject),
    allowed: decision.allowed && !isDenied,
    wouldDeny: decision.shadow && !decision.wouldAllow,
    ...denialOf(decision, inspection, isDenied ? denied : [], context.at),
    history: historyOf(context, name, subject),
  };
}

/** A limit of another shape as text; undefined if shapes have different limits of this name. */
function otherShapeDescription(
  perCallPolicies: LimiterVersion["perCallPolicies"],
  name: string,
): string | undefined {
  const named = perCallPolicies.flatMap(namedLimitsOf).filter(([own]) => own === name);
  const [description, ...more] = new Set(named.map(([, limit]) => describeLimit(limit)));
  return more.length === 0 ? description : undefined;
}

type NextUnitDecision = Pick<LimitState, "allowed" | "retryAfterMs">;

/** The decision of an inspected limit for one unit. It is unknown when a concurrency limit has a free slot again. */
function decisionForOneUnit(state: LimitState): NextUnitDecision {
  const { allowed, remaining, retryAfterMs, refillAfterMs, windowMs } = state;
  if (remaining > 0) return { allowed, retryAfterMs };
  const refillMs = windowMs === 0 ? Number.POSITIVE_INFINITY : refillAfterMs;
  return { allowed: false, retryAfterMs: Math.max(retryAfterMs, refillMs) };
}

function toLimitRow(
  state: LimitState,
  next: NextUnitDecision,
  description: string | undefined,
  at: number,
): LimitRow {
  const { name, per, limit, remaining, overdrawn, windowMs, resetAfterMs } = state;
  const wait = next.retryAfterMs;
  return {
    limit: name,
    per,
    description: description ?? name,
    capacity: limit,
    used: limit - remaining + overdrawn,
    hasSlots: windowMs === 0,
    remaining,
    allowed: next.allowed,
    nextAllowedAt: Number.isFinite(wait) ? at + wait : null,
    recoversFullyAt: windowMs === 0 ? null : at + resetAfterMs,
  };
}

function toBlockRows(
  limiter: string,
  subject: SubjectByDimension,
  { blocks }: Inspection,
  known: readonly ActiveBlock[],
  at: number,
): readonly BlockRow[] {
  return blocks.map(({ per, limit, endsInMs }): BlockRow => {
    const text = subject[per] ?? "";
    return {
      id: JSON.stringify([limiter, subject, per, limit ?? null]),
      limiter,
      subject: { [per]: text },
      until: at + endsInMs,
      limit,
      ...(limit === undefined ? manualBlockAuthor(known, limiter, per, text) : {}),
    };
  });
}

/** Who set a manual block, and why, as in the list of all blocks. */
function manualBlockAuthor(
  known: readonly ActiveBlock[],
  limiter: string,
  per: string,
  text: string,
): ReturnType<typeof originOf> {
  const block = known.find(
    (one) =>
      one.limiter === limiter &&
      one.dimension === per &&
      one.limit === undefined &&
      (one.subject === text || one.hash === hashSubject(text)),
  );
  return block === undefined ? {} : originOf(block);
}

/** The cause of the next denial, and its end. */
function denialOf(
  { wouldAllow, limits, retryAfterMs }: Decision,
  { blocks }: Inspection,
  denied: readonly DeniedNetwork[],
  at: number,
): Pick<SubjectStatus, "deniedBy" | "until"> {
  if (denied.length > 0) {
    const ends = denied.map(({ until }) => until ?? Number.POSITIVE_INFINITY);
    return { deniedBy: { kind: "denyList" }, ...untilOf(Math.max(...ends) / 1_000) };
  }
  if (wouldAllow) return {};
  const until = untilOf(at + retryAfterMs);
  if (blocks.length > 0) return { deniedBy: { kind: "block" }, ...until };
  const denying = limits
    .filter(({ allowed }) => !allowed)
    .sort((one, other) => other.retryAfterMs - one.retryAfterMs);
  return { deniedBy: { kind: "limit", limit: denying[0]?.name }, ...until };
}

function untilOf(until: number): { readonly until?: number } {
  return Number.isFinite(until) ? { until: Math.ceil(until) } : {};
}

/** Data about a prefix for looking up a subject. */
interface SubjectContext {
  readonly at: number;
  readonly record: ControlRecord;
  readonly registry: Registry;
  readonly log: readonly LogEntry[];
}

const MAX_HISTORY = 20;

/** Operators' actions on a subject of a limiter, or on all of its subjects. */
function historyOf(
  { log }: SubjectContext,
  limiter: string,
  subject: SubjectByDimension,
): readonly LogRow[] {
  return log
    .filter((entry) => entry.limiter === limiter && entry.kind !== "breaker")
    .filter((entry) => entry.subject === undefined || sharesDimension(entry.subject, subject))
    .slice(0, MAX_HISTORY)
    .map(toLogRow);
}

/** The override that applies to a subject: the one that takes precedence. */
function overrideFor(
  { record, registry, log, at }: SubjectContext,
  { name }: LimiterDefinition,
  subject: SubjectByDimension,
): OverrideRow | undefined {
  const override = overridesFor(record, name, subject, at).at(-1);
  return override === undefined ? undefined : toOverrideRows([override], registry, log)[0];
}

function sharesDimension(one: SubjectByDimension, subject: SubjectByDimension): boolean {
  return Object.entries(one).some(([per, text]) => subject[per] === text);
}
