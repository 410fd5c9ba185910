import type { Charged } from "../charged.ts";
import { joinCharged } from "../charged.ts";
import type { Cost } from "../cost.ts";
import type { Decision } from "../decision.ts";
import { bindingLimit } from "../decision.ts";
import { requireFormOf } from "../limiter/costs.ts";
import type { CountedPolicy, Group } from "../limiter/counted-policy.ts";
import type { Limiter, MadeLimiter } from "../limiter/limiter.ts";
import { LIMITER } from "../limiter/limiter.ts";
import { subjectsIn } from "../limiter/published-decision.ts";
import { isPlainObject } from "../plain-object.ts";
import { GLOBAL_DIMENSION } from "../policy.ts";
import type { HeaderOptions } from "./headers.ts";
import type { PolicyText } from "./policy-text.ts";
import type { RequestSubjects } from "./request-subjects.ts";

/** What all limiters have asked about one request so far. */
interface RequestState {
  asked: readonly AskedPart[];
}

/** Those groups of a limiter that a request asked together: the ones for which it had a subject, and which it had not asked before. */
export interface AskedPart {
  readonly limiter: MadeLimiter;
  readonly groups: readonly Group[];
  readonly subjects: RequestSubjects;
  /** The option that says what the request cost. */
  readonly cost: unknown;
  /** The option that says which answers count, where a mount has named one. */
  count: unknown;
  /** Whether that was asked: once, when the answer ended. */
  isJudged: boolean;
  /** What was decided; undefined until it is. */
  reported: ReportedDecision | undefined;
}

/** A decision, and what its limiter reports of it. */
export interface ReportedDecision {
  readonly decision: Decision;
  readonly headers: Required<HeaderOptions>;
  /** What was written in advance of the decision's limits, where they are all that the limiter has. */
  readonly text?: PolicyText | undefined;
  /** Whether the application let the denied request on. */
  readonly passed?: boolean;
}

/** What one limiter decided about a request, as its `of(request)` returns it. */
export interface OwnDecision {
  /** The decision; if some of its dimensions were asked later than others, the binding one. */
  readonly decision: Decision;
  /** Who was counted, by dimension, as `limiter.reset`, `peek` and `consume` take it. */
  readonly subject: RequestSubjects;
  readonly limiter: Limiter;
  /** Changes this request's cost here, once: to a whole number of at least 0, or to units by limits' names. Rejects with the same errors as `limiter.settle`. */
  settle<Units extends Cost>(units: Units): Promise<Charged<Units>>;
  /** Gives back what this request was charged here. Resolves with true if something was given back. Rejects with the same errors as `limiter.refund`. */
  refund(): Promise<boolean>;
  /** Gives back the places that this request holds here before it is answered. Resolves with true if it held one. Rejects with the same errors as `limiter.release`. */
  release(): Promise<boolean>;
}

/** What no `count` has judged so far, and is judged now. */
export interface Unjudged extends OwnDecision {
  /** Settles it at what it was charged, where limits block by what is kept. */
  keep(): Promise<unknown>;
}

/** Where a request carries its state: shared by all copies of Headgate that it passes. */
const STATE: unique symbol = Symbol.for("@headgate/core.request") as never;

interface Carrier {
  [STATE]?: RequestState;
}

const NONE: readonly never[] = [];

function stateOf(request: object): RequestState {
  const carrier = request as Carrier;
  carrier[STATE] ??= { asked: NONE };
  return carrier[STATE];
}

/** A dimension of a limiter is asked once per request, however often the limiter is mounted. */
function isAsked(asked: readonly AskedPart[], counted: CountedPolicy, group: Group): boolean {
  return asked.some((part) => {
    const { counted: other } = part.limiter[LIMITER];
    // A limiter in shadow that let the request on does not decide for one that may deny it.
    if (other.shadow && !counted.shadow) return false;
    return part.groups.some((one) => isSame(other, one, counted, group));
  });
}

/** Limiters of one name on one store count together, whichever objects they are. */
function isSame(ofOne: CountedPolicy, one: Group, ofOther: CountedPolicy, other: Group): boolean {
  if (one === other) return true;
  const { owner, prefix } = ofOne.store;
  const isSameStore = owner === ofOther.store.owner && prefix === ofOther.store.prefix;
  return isSameStore && one.keySuffix === other.keySuffix;
}

/**
 * What a request is to ask a limiter: its groups for which the request has a subject, and which it has not asked yet; noted as
 * asked from now on. Undefined when there is none.
 */
export function takeUnasked(
  request: object,
  limiter: MadeLimiter,
  subjects: RequestSubjects,
  cost: unknown,
): AskedPart | undefined {
  const state = stateOf(request);
  const { asked } = state;
  const { counted } = limiter[LIMITER];
  const isFirst = asked.length === 0;
  const groups = counted.groups.filter(
    (group) => isCounted(group, subjects) && (isFirst || !isAsked(asked, counted, group)),
  );
  if (groups.length === 0) return undefined;
  const part: AskedPart = {
    limiter,
    groups,
    subjects,
    cost,
    count: undefined,
    isJudged: false,
    reported: undefined,
  };
  // Most requests meet one limiter; a list that grows would make room for many.
  state.asked = isFirst ? [part] : [...asked, part];
  return part;
}

function isCounted({ dimension }: Group, subjects: RequestSubjects): boolean {
  return dimension === GLOBAL_DIMENSION || typeof subjects[dimension] === "string";
}

/** Whether a request has asked all that a limiter counts by, and lacked no subject. */
export function hasAskedAll(request: object, limiter: MadeLimiter): boolean {
  const { asked } = stateOf(request);
  const { counted } = limiter[LIMITER];
  return counted.groups.every((group) => isAsked(asked, counted, group));
}

/** Takes the note back where the limiter could not answer: then it was not asked. */
export function forgetAsked(request: object, part: AskedPart): void {
  const state = stateOf(request);
  state.asked = state.asked.filter((asked) => asked !== part);
}

/** Every decision on a request so far, except those in shadow. */
export function decisionsOf(request: object): readonly ReportedDecision[] {
  const decisions: ReportedDecision[] = [];
  for (const { reported } of stateOf(request).asked) {
    if (reported !== undefined && !reported.decision.shadow) decisions.push(reported);
  }
  return decisions;
}

/** What a request asked of limiters, or of those that count together with them. */
export function partsAsked(
  request: object,
  limiters: readonly MadeLimiter[],
): readonly AskedPart[] {
  const { asked } = stateOf(request);
  return asked.filter((part) =>
    limiters.some((limiter) => {
      const { counted } = limiter[LIMITER];
      return counted.groups.some((group) => isAsked([part], counted, group));
    }),
  );
}

/** The decision whose limit binds among all of a request: the denial, or the one with the least share left. */
export function bindingDecision(decisions: readonly Decision[]): Decision {
  const denied = decisions.find(({ wouldAllow }) => !wouldAllow);
  if (denied !== undefined) return denied;
  const limits = decisions.flatMap((decision) => decision.limits);
  // None of them was counted, while the store was away.
  if (limits.length === 0) return decisions[0] as Decision;
  const binding = bindingLimit(limits, true);
  return decisions.find(({ limits }) => limits.includes(binding)) as Decision;
}

/** What was decided of a request by one of some limiters; undefined when none of them was asked. */
export function ownDecision(
  request: object,
  limiters: readonly MadeLimiter[],
): OwnDecision | undefined {
  return joinParts(request, limiters, partsDecided(request, limiters));
}

/**
 * The same of what no `count` has judged so far. It is judged from now on. `isImplied`: by nobody's option, so that what another
 * mount has one for is left to that.
 */
export function takeUnjudged(
  request: object,
  limiters: readonly MadeLimiter[],
  isImplied: boolean,
): Unjudged | undefined {
  const parts = partsDecided(request, limiters).filter(
    ({ isJudged, count }) => !isJudged && (!isImplied || count === undefined),
  );
  for (const part of parts) part.isJudged = true;
  const own = joinParts(request, limiters, parts);
  return own && { ...own, keep: () => Promise.all(parts.map(keepPart)) };
}

async function keepPart({ limiter, reported }: AskedPart): Promise<void> {
  const { decision } = reported as ReportedDecision;
  if (!limiter[LIMITER].counted.keeps) return;
  // By name, limits that are not named keep what they were charged.
  await limiter[LIMITER].charging.settle(
    decision,
    typeof decision.cost === "number" ? decision.cost : {},
  );
}

function partsDecided(request: object, limiters: readonly MadeLimiter[]): readonly AskedPart[] {
  return partsAsked(request, limiters).filter(({ reported }) => reported !== undefined);
}

function joinParts(
  request: object,
  limiters: readonly MadeLimiter[],
  parts: readonly AskedPart[],
): OwnDecision | undefined {
  const [first] = parts;
  if (first === undefined) return undefined;
  const decisions = parts.map(({ reported }) => (reported as ReportedDecision).decision);
  // Of limiters that count in the same keys, the one that was asked.
  const limiter = limiters.includes(first.limiter)
    ? first.limiter
    : (limiters.find((one) => partsAsked(request, [one]).includes(first)) ?? first.limiter);
  return {
    decision: bindingDecision(decisions),
    subject: subjectIn(limiter, parts),
    limiter,
    async settle<Units extends Cost>(units: Units) {
      // Before any of them is settled.
      for (const decision of decisions) requireFormOf(decision, units);
      const settled = parts.map((part, i) =>
        part.limiter[LIMITER].charging.settle(
          decisions[i] as Decision,
          unitsOf(units, part, parts),
        ),
      );
      return joinCharged<Units>(await Promise.all(settled));
    },
    async refund() {
      const given = await Promise.all(
        parts.map((part, i) => part.limiter[LIMITER].charging.refund(decisions[i] as Decision)),
      );
      return given.includes(true);
    },
    async release() {
      const released = await Promise.all(
        parts.map((part, i) => part.limiter.release(decisions[i] as Decision)),
      );
      return released.includes(true);
    },
  };
}

/** The units that are of a part's limits. A name that no part knows is left in, for all of them to refuse. */
function unitsOf<Units extends Cost>(
  units: Units,
  part: AskedPart,
  parts: readonly AskedPart[],
): Units {
  if (!isPlainObject(units) || parts.length === 1) return units;
  const knows = ({ limiter }: AskedPart, name: string) =>
    limiter.limits.some((limit) => limit.name === name);
  const own = Object.entries(units).filter(
    ([name]) => knows(part, name) || !parts.some((other) => knows(other, name)),
  );
  return Object.fromEntries(own) as Units;
}

/** Whom a limiter counted in these parts. */
function subjectIn(limiter: MadeLimiter, parts: readonly AskedPart[]): RequestSubjects {
  const own = limiter[LIMITER].counted.groups.map(({ dimension }) => dimension);
  const asked = parts.map(({ groups, subjects }) => ({
    groups: groups.filter(({ dimension }) => own.includes(dimension)),
    subjects,
  }));
  return subjectsIn(...asked);
}

/**
 * The subject under which any limiter last counted a request, as that limiter's `reset` takes it;
 * undefined if it was not counted. Limiters in shadow are left out. For one limiter's subject, use its `of(request)`.
 */
export function subjectOf(request: object): RequestSubjects | undefined {
  const last = (request as Carrier)[STATE]?.asked.findLast(
    ({ reported }) => reported !== undefined && !reported.decision.shadow,
  );
  return last && subjectIn(last.limiter, [last]);
}
