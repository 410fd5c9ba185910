import type { Decision } from "../decision.ts";
import { bindingLimit } from "../decision.ts";
import type { Limiter } from "../limiter/limiter.ts";
import { LIMITER } from "../limiter/limiter.ts";
import type { Subjects } from "../limiter/units.ts";
import type { HeaderOptions } from "./headers.ts";
import type { PolicyText } from "./policy-text.ts";

/** What has been decided of one request so far, by all limiters on its way. */
interface RequestState {
  asked: readonly object[];
  decisions: readonly ToldDecision[];
  subjects: Subjects | undefined;
}

/** A decision, and what its limiter tells of it. */
export interface ToldDecision {
  readonly decision: Decision;
  readonly headers: Required<HeaderOptions>;
  /** What was written in advance of the decision's limits, where they are all that the limiter has. */
  readonly text?: PolicyText | undefined;
}

/** Where a request carries its state: shared by all copies of Headgate that it passes. */
const STATE: unique symbol = Symbol.for("@headgate/core.request") as never;

interface Carrier {
  [STATE]?: RequestState;
}

const NONE: readonly never[] = [];

/** Most requests meet one limiter; a list that grows would make room for many. */
function withOne<One>(list: readonly One[], one: One): readonly One[] {
  return list.length === 0 ? [one] : [...list, one];
}

function stateOf(request: object): RequestState {
  const carrier = request as Carrier;
  carrier[STATE] ??= { asked: NONE, decisions: NONE, subjects: undefined };
  return carrier[STATE];
}

/**
 * The part of a limiter that this request has not asked yet, noted as asked from now on; undefined when there is none.
 * A limiter is asked once per request, however often it is mounted.
 */
export function takeUnasked(request: object, limiter: Limiter): Limiter | undefined {
  const state = stateOf(request);
  const { identity, parent, alone } = limiter[LIMITER];
  const isAsked = state.asked.includes(identity);
  if (!isAsked) state.asked = withOne(state.asked, identity);
  const unaskedParent = parent && takeUnasked(request, parent);
  if (isAsked) return unaskedParent;
  return unaskedParent === parent ? limiter : alone;
}

/** Takes the note back where the limiter could not answer: then it was not asked. */
export function forgetAsked(request: object, limiter: Limiter): void {
  const { identity, parent } = limiter[LIMITER];
  const state = stateOf(request);
  state.asked = state.asked.filter((asked) => asked !== identity);
  if (parent !== undefined) forgetAsked(request, parent);
}

/** Keeps a decision, and returns all of the request's. */
export function addDecision(
  request: object,
  told: ToldDecision,
  subjects: Subjects,
): readonly ToldDecision[] {
  const state = stateOf(request);
  state.decisions = withOne(state.decisions, told);
  state.subjects = subjects;
  return state.decisions;
}

/** The decision whose limit binds among all of a request: the denial, or the one with the least share left. */
export function bindingDecision(decisions: readonly Decision[]): Decision {
  const denied = decisions.find(({ allowed }) => !allowed);
  if (denied !== undefined) return denied;
  const limits = decisions.flatMap((decision) => decision.limits);
  // None of them was counted, while the store was away.
  if (limits.length === 0) return decisions[0] as Decision;
  const binding = bindingLimit(limits, true);
  return decisions.find(({ limits }) => limits.includes(binding)) as Decision;
}

/**
 * The subject under which a request was last counted, as `limiter.reset` takes it; undefined when it was not counted.
 * `await limiter.reset(subjectOf(req))` after a good login forgets the failed ones.
 */
export function subjectOf(request: object): Subjects | undefined {
  return (request as Carrier)[STATE]?.subjects;
}
