import { setTimeout as after } from "node:timers/promises";
import { fc } from "@fast-check/vitest";

/** When an application does something about a denied request, as seen from `onDenied`. */
export type Moment =
  /** While the function runs. */
  | "now"
  /** Before its promise settles. */
  | "awaited"
  /** When it is done, on a timer that nobody waits for. */
  | "late";

/** Something an application does about a denied request, meant to answer it or not. */
export interface Way<Denied> {
  /** `body` is what to answer, where the way can choose. */
  readonly act: (denied: Denied, body: string) => unknown;
  /** The bodies that the client may see when this alone was done in time; none when it is no answer. */
  readonly answers: (body: string) => readonly string[];
  /** Whether its answer, or that there is none, shows only some time later. */
  readonly isSlow?: boolean;
  /** Whether what comes of it in company is anybody's guess. */
  readonly isLoner?: boolean;
  /** Whether what it returns is to be waited for, by those who wait at all. */
  readonly isAwaited?: boolean;
  /** Whether it would end any process when nobody waits for it. */
  readonly needsCaller?: boolean;
  /** Whether it ends the function. */
  readonly fails?: boolean;
  /** Whether it lets the request on, where nothing answers and nothing else is returned. */
  readonly letsOn?: boolean;
}

export type Ways<Denied> = Readonly<Record<string, Way<Denied>>>;

export interface Step {
  readonly way: string;
  readonly moment: Moment;
  /** Milliseconds after the one before, or after the function. */
  readonly delay: number;
}

/** How an application handles one denied request. */
export interface Scenario {
  readonly steps: readonly Step[];
}

/** The body that the error handler of every application under test answers with. */
export const ERROR = "[error]";

const MOMENTS: readonly Moment[] = ["now", "awaited", "late"];

/** Scenarios of one to three steps, in the order in which they happen. */
export function scenariosOf<Denied>(ways: Ways<Denied>): fc.Arbitrary<Scenario> {
  const step: fc.Arbitrary<Step> = fc
    .record({
      way: fc.constantFrom(...Object.keys(ways)),
      moment: fc.constantFrom(...MOMENTS),
      delay: fc.nat(6),
    })
    .filter(({ way, moment }) => moment !== "late" || ways[way]?.needsCaller !== true);
  return fc
    .array(step, { minLength: 1, maxLength: 3 })
    .map((steps) => ({ steps: steps.toSorted((a, b) => orderOf(a) - orderOf(b)) }));
}

function orderOf({ moment }: Step): number {
  return MOMENTS.indexOf(moment);
}

/** After so long its last step has been made. */
export function lastsMs({ steps }: Scenario): number {
  return steps.reduce((sum, { delay }) => sum + delay, 0);
}

/** What `onDenied` does in a scenario. */
export function play<Denied>(ways: Ways<Denied>, { steps }: Scenario, denied: Denied): unknown {
  const act = (step: Step): unknown => ways[step.way]?.act(denied, bodyOf(steps.indexOf(step)));
  const inTime = steps.filter(({ moment }) => moment !== "late");
  const beginLate = (): void => {
    for (const step of steps) if (step.moment === "late") setTimeout(() => act(step), step.delay);
  };
  const isAsync = inTime.some(
    ({ way, moment }) => moment === "awaited" || ways[way]?.needsCaller === true,
  );
  return isAsync ? playAsync(ways, inTime, act, beginLate) : playNow(inTime, act, beginLate);
}

/** A function that is done when it returns. */
function playNow(
  steps: readonly Step[],
  act: (step: Step) => unknown,
  beginLate: () => void,
): unknown {
  let returned: unknown;
  for (const step of steps) returned = act(step);
  beginLate();
  return returned;
}

async function playAsync<Denied>(
  ways: Ways<Denied>,
  steps: readonly Step[],
  act: (step: Step) => unknown,
  beginLate: () => void,
): Promise<unknown> {
  try {
    let returned: unknown;
    for (const step of steps) {
      if (step.moment === "awaited") await after(step.delay);
      const acted = act(step);
      returned = ways[step.way]?.isAwaited === true ? await acted : undefined;
    }
    return returned;
  } finally {
    beginLate();
  }
}

/** What the client of a scenario is to be answered with. */
export type Expected =
  /** One of these bodies, by the application. */
  | { readonly by: "application"; readonly bodies: readonly string[] }
  | { readonly by: "Headgate" }
  /** The request was let on. */
  | { readonly by: "handler" }
  /** Several answers of the application are mixed up: anything, as long as the process lives. */
  | { readonly by: "anybody" };

export function expectedOf<Denied>(ways: Ways<Denied>, { steps }: Scenario): Expected {
  const inTime: { readonly way: Way<Denied>; readonly bodies: readonly string[] }[] = [];
  let hasFailed = false;
  for (const [i, step] of steps.entries()) {
    const way = ways[step.way] as Way<Denied>;
    if (step.moment === "late" || hasFailed) continue;
    hasFailed = way.fails === true;
    const bodies = way.answers(bodyOf(i));
    if (!hasFailed && (bodies.length > 0 || way.isSlow === true)) inTime.push({ way, bodies });
  }
  if (steps.length > 1 && steps.some(({ way }) => ways[way]?.isLoner === true)) {
    return { by: "anybody" };
  }
  const isSlow = inTime.some(({ way }) => way.isSlow === true);
  const isAnyLate = steps.some(({ moment, way }) => moment === "late" && isActive(ways[way]));
  if (isSlow && (inTime.length > 1 || isAnyLate)) return { by: "anybody" };
  // The error handler's answer is the framework's business.
  if (hasFailed && isAnyLate) return { by: "anybody" };
  const bodies = inTime.flatMap((one) => one.bodies);
  if (bodies.length > 0) return { by: "application", bodies };
  const last = steps.findLast(({ moment }) => moment !== "late");
  if (!hasFailed && last !== undefined && ways[last.way]?.letsOn === true) {
    return isAnyLate ? { by: "anybody" } : { by: "handler" };
  }
  return hasFailed ? { by: "application", bodies: [ERROR] } : { by: "Headgate" };
}

/** Whether a way answers, or does so for all anybody knows. */
function isActive(way: Way<never> | undefined): boolean {
  return way !== undefined && (way.isSlow === true || way.answers("").length > 0);
}

function bodyOf(i: number): string {
  return `[${i}]`;
}
