import type { Subjects } from "../counters.ts";
import type { Decision } from "../decision.ts";
import { bindingLimit } from "../decision.ts";
import type { Limiter } from "../limiter.ts";
import { LIMITER } from "../limiter.ts";

/** What has been decided of one request so far, by all limiters on its way. */
interface RequestState {
  readonly asked: Set<object>;
  readonly decisions: Decision[];
  subjects: Subjects | undefined;
}

/** Where a request carries its state: shared by all copies of Headgate that it passes. */
const STATE: unique symbol = Symbol.for("@headgate/core.request") as never;

interface Carrier {
  [STATE]?: RequestState;
}

function stateOf(request: object): RequestState {
  const carrier = request as Carrier;
  carrier[STATE] ??= { asked: new Set(), decisions: [], subjects: undefined };
  return carrier[STATE];
}

/** Notes that a limiter is asked; false when it was before: a limiter is asked once per request, however often it is mounted. */
export function askOnce(request: object, limiter: Limiter): boolean {
  const { asked } = stateOf(request);
  const { identities } = limiter[LIMITER];
  if (identities.every((identity) => asked.has(identity))) return false;
  for (const identity of identities) asked.add(identity);
  return true;
}

/** Keeps a decision, and returns all of the request's. */
export function addDecision(
  request: object,
  decision: Decision,
  subjects: Subjects,
): readonly Decision[] {
  const state = stateOf(request);
  state.decisions.push(decision);
  state.subjects = subjects;
  return state.decisions;
}

/** The decision whose limit binds among all of a request: the denial, or the one with the least share left. */
export function bindingDecision(decisions: readonly Decision[]): Decision {
  const denied = decisions.find(({ allowed }) => !allowed);
  if (denied !== undefined) return denied;
  const binding = bindingLimit(
    decisions.flatMap(({ limits }) => limits),
    true,
  );
  return decisions.find(({ limits }) => limits.includes(binding)) as Decision;
}

/**
 * The subject under which a request was last counted, as `limiter.reset` takes it; undefined when it was not counted.
 * `await limiter.reset(subjectOf(req))` after a good login forgets the failed ones.
 */
export function subjectOf(request: object): Subjects | undefined {
  return (request as Carrier)[STATE]?.subjects;
}
