import { formatCount } from "../output/number.ts";
import { countPeaks } from "../replay/peaks.ts";
import type { ReplayResult } from "../replay/result.ts";
import type { Algorithm } from "./algorithms.ts";
import { makeLimit, mostAdmitted } from "./algorithms.ts";
import { careOf } from "./care.ts";
import type { Tightest } from "./choose-window.ts";
import { chooseWindow, excessOf } from "./choose-window.ts";
import type { Part } from "./part.ts";
import { halvesOf, spanOf, wholeOf } from "./part.ts";
import type { Recommendation, Replayed, Unseen, WindowProposal } from "./recommendation.ts";
import type { Recording } from "./recording.ts";
import type { Score } from "./score.ts";
import { searchIn } from "./search.ts";
import { subjectPeaks } from "./subject-peaks.ts";
import type { Target } from "./target.ts";
import { isMet, mostOf } from "./target.ts";
import type { Window } from "./windows.ts";

const DAY = 86_400_000;

export interface RecommendOptions {
  readonly algorithm: Algorithm;
  /** The shortest first. */
  readonly windows: readonly Window[];
  readonly target: Target;
  readonly signal: AbortSignal;
  /** Called when a window has been considered. */
  readonly onWindow: () => void;
  /** Replays the whole recording under limits of so many units in a window, each under a name. */
  readonly replay: (window: Window, units: readonly NamedUnits[]) => Promise<ReplayResult>;
}

export interface NamedUnits {
  readonly name: string;
  readonly units: number;
}

/** The proposal, and the replay that proves it. */
export interface Recommended {
  readonly recommendation: Recommendation;
  readonly result: ReplayResult;
}

/** Proposes a limit for a recording that is not empty. Rejects with the signal's reason. */
export async function recommend(
  recording: Recording,
  options: RecommendOptions,
): Promise<Recommended> {
  const { algorithm, target, windows } = options;
  const whole = wholeOf(recording);
  const tightest: (Tightest & { readonly score: Score })[] = [];
  for (const window of windows) {
    tightest.push(await tightestOf(whole, window, options));
    options.onWindow();
  }
  const chosen = tightest[chooseWindow(tightest)] as (typeof tightest)[number];
  const { window, units } = chosen;
  const replayed = await options.replay(window, named(around(units), window));
  const result: ReplayResult = {
    ...replayed,
    peaks: windows.map(({ ms }) => ({
      window: ms,
      counts: countPeaks(subjectPeaks(whole, ms)),
      error: 0,
    })),
  };
  const busiestInADay = countPeaks(subjectPeaks(whole, DAY)).at(-1)?.peak as number;
  const excess = excessOf(tightest);
  const compared = tightest.map(
    (one, i): WindowProposal => ({
      window: one.window.written,
      units: one.units,
      isLongEnough: one.isLongEnough,
      excessAtOnce: round(excess[i]?.excessAtOnce as number),
      excessOverTime: round(excess[i]?.excessOverTime as number),
      ...one.score,
    }),
  );
  return {
    result,
    recommendation: {
      log: result.log,
      target: { of: target.of, percent: target.percent, most: mostOf(target, chosen.score) },
      proposal: {
        limit: makeLimit(algorithm, units, window.written),
        window: window.written,
        units,
        why: whyOf(compared, window),
        replayed: replayedOf(result, units, target),
        unseen: await scoreUnseen(recording, chosen, options),
        mostInADay: mostAdmitted(algorithm, units, window.ms, DAY),
        busiestInADay,
      },
      windows: compared,
      care: careOf(recording, result, chosen, {
        windows,
        target,
        most: mostOf(target, chosen.score),
      }),
    },
  };
}

async function tightestOf(
  part: Part,
  window: Window,
  options: RecommendOptions,
): Promise<Tightest & { readonly score: Score }> {
  const search = searchIn(part, { ...options, window });
  const units = await search.tightest();
  const { from, to } = spanOf(part);
  const isLongEnough = to - from >= 2 * window.ms;
  return { window, units, isLongEnough, score: await search.score(units) };
}

/** The units that are proposed, one fewer, half of them, and twice as many. */
function around(units: number): readonly number[] {
  const all = [units, units - 1, Math.floor(units / 2), units * 2];
  return [...new Set(all)].filter((one) => one > 0);
}

/** Their names in the report. */
function named(all: readonly number[], { written }: Window): readonly NamedUnits[] {
  return all.map((units, i) => ({
    name: `${formatCount(units)} per ${written}${i === 0 ? ", recommended" : ""}`,
    units,
  }));
}

function replayedOf(
  { log, policies }: ReplayResult,
  units: number,
  target: Target,
): readonly Replayed[] {
  const all = around(units);
  return policies.map(({ denied, clientsDenied, waits }, i) => {
    const { requests, clients } = log;
    const score = { requests, denied, clients, clientsDenied };
    return { units: all[i] as number, ...score, met: isMet(target, score), waits };
  });
}

/** Finds a limit on the earlier half, and tries it and the proposal on the later one. */
async function scoreUnseen(
  recording: Recording,
  { window, units }: Tightest,
  options: RecommendOptions,
): Promise<Unseen | null> {
  const halves = halvesOf(recording);
  if (halves === undefined) return null;
  const [earlier, later] = halves;
  const found = await searchIn(earlier, { ...options, window }).tightest();
  const unseen = searchIn(later, { ...options, window });
  const score = await unseen.score(found);
  const proposed = found === units ? score : await unseen.score(units);
  const { target } = options;
  return {
    units: found,
    ...score,
    met: isMet(target, score),
    proposed: { ...proposed, met: isMet(target, proposed) },
    ...spanOf(later),
  };
}

function whyOf(all: readonly WindowProposal[], { written }: Window): string {
  const own = all.find(({ window }) => window === written) as WindowProposal;
  if (all.length === 1) return "It is the window that was asked for.";
  const usable = all.filter(({ isLongEnough }) => isLongEnough);
  if (usable.length === 0) return "The log is too short for any of them.";
  if (usable.length === 1) return "The log is long enough for no other window.";
  const [shortest, longest] = [usable.at(0), usable.at(-1)].map((one) => one?.window);
  return `A short window lets one client take much over a day, a long one lets it take much at once. ${written} is the best compromise: at once it allows ${own.excessAtOnce} times what the target needs within ${shortest}, and over ${longest} it allows ${own.excessOverTime} times what the target needs. Every other window is worse in one of the two.`;
}

/** To two digits, for people to read. */
function round(times: number): number {
  return Number(times.toPrecision(2));
}
