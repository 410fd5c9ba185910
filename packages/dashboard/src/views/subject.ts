import { isIP } from "node:net";
import type { Decision, LimitState } from "@headgate/core";
import type {
  DeniedNetwork,
  Inspection,
  LimiterVersion,
  SubjectQuery,
} from "@headgate/core/operate";
import { dimensionsOf, GLOBAL_SUBJECT, limiterVersionsOf } from "@headgate/core/operate";
import type { BlockRow, LimitRow, SubjectInLimiter, SubjectOf, SubjectView } from "../api.ts";
import { formatLimit } from "../format/policy.ts";
import { namedLimits } from "../named-limits.ts";
import type { Reading } from "../reading.ts";
import { unknownLimiter } from "../serve/refusal.ts";
import { makeSubjects } from "../subjects/make-subjects.ts";
import type { Question } from "../subjects/read-question.ts";
import { viewDenied } from "./denied-rows.ts";
import type { SubjectContext } from "./subject-context.ts";
import { historyOf, overrideFor, setBy } from "./subject-context.ts";

/** How many limiters are looked up at once. */
const TOGETHER = 16;

type Asked = readonly [known: LimiterVersion, subject: SubjectOf];

/**
 * The answer of each limiter in the reading about a subject; `spend` receives the number of lookups before they are made.
 * Rejects with a `Refusal` if the question names another limiter.
 */
export async function viewSubject(
  reading: Reading,
  { client, asked, limiter }: Question,
  spend: (looks: number) => Promise<void>,
): Promise<SubjectView> {
  const [registry, { record }, log, at] = await Promise.all([
    reading.directory(),
    reading.control(),
    reading.log(),
    reading.now(),
  ]);
  const known = limiterVersionsOf(registry.limiters, limiter);
  if (limiter !== undefined && known.length === 0) throw unknownLimiter();
  const made = await Promise.all(
    known.map(async (one) => ({ one, ...(await makeSubjects(one, client)) })),
  );
  const tasks = distinct(
    made.flatMap(({ one, subjects }) => subjects.map((subject): Asked => [one, subject])),
  );
  await spend(tasks.length + 1);
  const denied = await deniedFor(reading, client);
  const context: SubjectContext = { at, record, directory: registry, log: log.entries };
  const limiters: SubjectInLimiter[] = [];
  for (let i = 0; i < tasks.length; i += TOGETHER) {
    const some = tasks.slice(i, i + TOGETHER);
    limiters.push(...(await Promise.all(some.map((one) => look(reading, one, denied, context)))));
  }
  return {
    at,
    asked,
    limiters,
    skipped: made
      .filter(({ subjects }) => subjects.length === 0)
      .map(({ one, needs }) => ({ name: one.limiter.name, needs })),
    denyList: viewDenied(denied),
  };
}

/** Policies that differ only in their numbers have the same counters. */
function distinct(asked: readonly Asked[]): readonly Asked[] {
  const byCounters = new Map<string, Asked>();
  for (const one of asked) {
    const [{ limiter, counterIdentity }, subject] = one;
    const id = JSON.stringify([limiter.name, counterIdentity, subject]);
    if (!byCounters.has(id)) byCounters.set(id, one);
  }
  return [...byCounters.values()];
}

/** The entries of the deny list that contain an address, or the first address of a subject's network. */
async function deniedFor(
  { denyList }: Reading,
  { ip, text = "" }: SubjectQuery,
): Promise<readonly DeniedNetwork[]> {
  const address = (ip ?? text).split("/")[0]?.replace(/%.*$/s, "") ?? "";
  return isIP(address) === 0 ? [] : denyList(address);
}

async function look(
  { operator: admin }: Reading,
  [{ limiter, others, uses }, subject]: Asked,
  denied: readonly DeniedNetwork[],
  context: SubjectContext,
): Promise<SubjectInLimiter> {
  const { name, limits } = limiter;
  // A limit shared by all clients may deny this one.
  const isShared = dimensionsOf(limits).includes("global");
  const asked = isShared ? { ...subject, global: GLOBAL_SUBJECT } : subject;
  const [used, decision, inspection] = await Promise.all([
    admin.peek(limiter, asked, { cost: 0 }),
    admin.peek(limiter, asked),
    admin.inspect(limiter, asked),
  ]);
  const words = new Map(
    limits
      .filter(({ per = "default" }) => Object.hasOwn(asked, per))
      .map((limit, i) => [used.limits[i]?.name, formatLimit(limit)] as const),
  );
  const isDenied = denied.length > 0 && uses.length > 0;
  return {
    name,
    dimension: Object.keys(subject).join(", "),
    subject,
    limits: [
      ...used.limits.map((state, i) =>
        toLimitRow(state, decision.limits[i] ?? state, words.get(state.name), context.at),
      ),
      // Behind the limiter's own, which are shown under the numbers in force, those of other shapes.
      ...inspection.limits
        .slice(used.limits.length)
        .map((state) =>
          toLimitRow(state, forOneUnit(state), wordsAmong(others, state.name), context.at),
        ),
    ],
    blocked: viewBlocks(name, asked, inspection, context),
    override: overrideFor(context, limiter, subject),
    allowed: decision.allowed && !isDenied,
    shadow: decision.shadow && !decision.wouldAllow,
    ...verdictOf(decision, inspection, isDenied ? denied : [], context.at),
    history: historyOf(context, name, subject),
  };
}

/** A limit of another shape in words; undefined if several are called so. */
function wordsAmong(others: LimiterVersion["others"], name: string): string | undefined {
  const named = others.flatMap(namedLimits).filter(([own]) => own === name);
  const [words, ...more] = new Set(named.map(([, limit]) => formatLimit(limit)));
  return more.length === 0 ? words : undefined;
}

type NextUnit = Pick<LimitState, "allowed" | "retryAfterMs">;

/** A limit that was asked for no unit, as it would answer for one. When a slot is free again is unknown. */
function forOneUnit(state: LimitState): NextUnit {
  const { allowed, remaining, retryAfterMs, refillAfterMs, windowMs } = state;
  if (remaining > 0) return { allowed, retryAfterMs };
  const grows = windowMs === 0 ? Number.POSITIVE_INFINITY : refillAfterMs;
  return { allowed: false, retryAfterMs: Math.max(retryAfterMs, grows) };
}

function toLimitRow(
  state: LimitState,
  next: NextUnit,
  words: string | undefined,
  at: number,
): LimitRow {
  const { name, per, limit, remaining, overdrawn, windowMs, resetAfterMs } = state;
  const wait = next.retryAfterMs;
  return {
    limit: name,
    per,
    words: words ?? name,
    most: limit,
    used: limit - remaining + overdrawn,
    remaining,
    allowed: next.allowed,
    allowsAt: Number.isFinite(wait) ? at + wait : null,
    unusedAt: windowMs === 0 ? null : at + resetAfterMs,
  };
}

function viewBlocks(
  limiter: string,
  subject: SubjectOf,
  { blocks }: Inspection,
  context: SubjectContext,
): readonly BlockRow[] {
  return blocks.map(
    ({ per, limit, endsInMs }): BlockRow => ({
      id: JSON.stringify([limiter, subject, per, limit ?? null]),
      limiter,
      subject: { [per]: subject[per] ?? "" },
      until: context.at + endsInMs,
      setAs: limit ?? "hand",
      ...(limit === undefined ? setBy(context, limiter, subject) : {}),
    }),
  );
}

/** What denies the next request, and until when. */
function verdictOf(
  { wouldAllow, limits, retryAfterMs }: Decision,
  { blocks }: Inspection,
  denied: readonly DeniedNetwork[],
  at: number,
): Pick<SubjectInLimiter, "deniedBy" | "until"> {
  if (denied.length > 0) {
    const ends = denied.map(({ until }) => until ?? Number.POSITIVE_INFINITY);
    return { deniedBy: "deny list", ...untilOf(Math.max(...ends) / 1_000) };
  }
  if (wouldAllow) return {};
  const until = untilOf(at + retryAfterMs);
  if (blocks.length > 0) return { deniedBy: "block", ...until };
  const denying = limits
    .filter(({ allowed }) => !allowed)
    .sort((one, other) => other.retryAfterMs - one.retryAfterMs);
  return { deniedBy: denying[0]?.name ?? "a limit", ...until };
}

function untilOf(until: number): { readonly until?: number } {
  return Number.isFinite(until) ? { until: Math.ceil(until) } : {};
}
