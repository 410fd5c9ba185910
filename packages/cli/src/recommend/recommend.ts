import { formatCount } from "../output/number.ts";
import { countPeaks } from "../replay/peaks.ts";
import type { ReplayResult } from "../replay/result.ts";
import type { Algorithm } from "./algorithms.ts";
import { makeLimit, maxAdmitted } from "./algorithms.ts";
import { caveatsOf } from "./caveats.ts";
import type { TightestLimit } from "./choose-window.ts";
import { chooseWindow, excessOf } from "./choose-window.ts";
import type {
  HoldoutScore,
  Recommendation,
  ReplayScore,
  WindowProposal,
} from "./recommendation.ts";
import type { Recording } from "./recording.ts";
import type { RecordingRange } from "./recording-range.ts";
import { splitInHalf, timeSpanOf, wholeRange } from "./recording-range.ts";
import type { Score } from "./score.ts";
import { createSearch } from "./search.ts";
import { subjectPeaks } from "./subject-peaks.ts";
import type { DenialTarget } from "./target.ts";
import { maxDeniedIn, meetsTarget } from "./target.ts";
import type { Window } from "./windows.ts";

const DAY = 86_400_000;

export interface RecommendOptions {
  readonly algorithm: Algorithm;
  /** Sorted, the shortest first. */
  readonly windows: readonly Window[];
  readonly target: DenialTarget;
  readonly signal: AbortSignal;
  /** Called after each window. */
  readonly onWindow: () => void;
  /** Replays the whole recording under several limits of one window. */
  readonly replay: (window: Window, units: readonly NamedUnits[]) => Promise<ReplayResult>;
}

export interface NamedUnits {
  readonly name: string;
  readonly units: number;
}

/** The recommendation, and the replay that proves it. */
export interface RecommendResult {
  readonly recommendation: Recommendation;
  readonly result: ReplayResult;
}

/** Recommends a limit for a recording that is not empty. Rejects with the signal's reason. */
export async function recommend(
  recording: Recording,
  options: RecommendOptions,
): Promise<RecommendResult> {
  const { algorithm, target, windows } = options;
  const whole = wholeRange(recording);
  const tightest: (TightestLimit & { readonly score: Score })[] = [];
  for (const window of windows) {
    tightest.push(await findTightest(whole, window, options));
    options.onWindow();
  }
  const chosen = tightest[chooseWindow(tightest)] as (typeof tightest)[number];
  const { window, units } = chosen;
  const replayed = await options.replay(window, nameCandidates(candidateUnits(units), window));
  const result: ReplayResult = {
    ...replayed,
    peaks: windows.map(({ ms }) => ({
      windowMs: ms,
      counts: countPeaks(subjectPeaks(whole, ms)),
      error: 0,
    })),
  };
  const busiestClientPerDay = countPeaks(subjectPeaks(whole, DAY)).at(-1)?.peak as number;
  const excess = excessOf(tightest);
  const compared = tightest.map(
    (one, i): WindowProposal => ({
      window: one.window.text,
      units: one.units,
      isLogLongEnough: one.isLogLongEnough,
      excessAtOnce: round(excess[i]?.excessAtOnce as number),
      excessOverTime: round(excess[i]?.excessOverTime as number),
      ...one.score,
    }),
  );
  return {
    result,
    recommendation: {
      log: result.log,
      target: {
        of: target.of,
        percent: target.maxPercent,
        maxDenied: maxDeniedIn(target, chosen.score),
      },
      proposal: {
        limit: makeLimit(algorithm, units, window.text),
        window: window.text,
        units,
        reason: explainChoice(compared, window),
        replays: scoreReplays(result, units, target),
        holdout: await scoreHoldout(recording, chosen, options),
        maxPerDay: maxAdmitted(algorithm, units, window.ms, DAY),
        busiestClientPerDay,
      },
      windows: compared,
      caveats: caveatsOf(recording, result, chosen, {
        windows,
        target,
        maxDenied: maxDeniedIn(target, chosen.score),
      }),
    },
  };
}

async function findTightest(
  range: RecordingRange,
  window: Window,
  options: RecommendOptions,
): Promise<TightestLimit & { readonly score: Score }> {
  const search = createSearch(range, { ...options, window });
  const units = await search.findTightest();
  const { from, to } = timeSpanOf(range);
  const isLogLongEnough = to - from >= 2 * window.ms;
  return { window, units, isLogLongEnough, score: await search.score(units) };
}

/** The units to replay: the recommended ones, one fewer, half of them, and twice as many. */
function candidateUnits(units: number): readonly number[] {
  const all = [units, units - 1, Math.floor(units / 2), units * 2];
  return [...new Set(all)].filter((one) => one > 0);
}

/** Names the candidates for the report. */
function nameCandidates(all: readonly number[], { text }: Window): readonly NamedUnits[] {
  return all.map((units, i) => ({
    name: `${formatCount(units)} per ${text}${i === 0 ? ", recommended" : ""}`,
    units,
  }));
}

function scoreReplays(
  { log, policies }: ReplayResult,
  units: number,
  target: DenialTarget,
): readonly ReplayScore[] {
  const all = candidateUnits(units);
  return policies.map(({ denied, clientsDenied, waitsMs }, i) => {
    const { requests, clients } = log;
    const score = { requests, denied, clients, clientsDenied };
    return { units: all[i] as number, ...score, meetsTarget: meetsTarget(target, score), waitsMs };
  });
}

/** Finds a limit on the earlier half, and tests it and the proposal on the later half. */
async function scoreHoldout(
  recording: Recording,
  { window, units }: TightestLimit,
  options: RecommendOptions,
): Promise<HoldoutScore | null> {
  const halves = splitInHalf(recording);
  if (halves === undefined) return null;
  const [earlier, later] = halves;
  const found = await createSearch(earlier, { ...options, window }).findTightest();
  const unseen = createSearch(later, { ...options, window });
  const score = await unseen.score(found);
  const proposed = found === units ? score : await unseen.score(units);
  const { target } = options;
  return {
    units: found,
    ...score,
    meetsTarget: meetsTarget(target, score),
    proposal: { ...proposed, meetsTarget: meetsTarget(target, proposed) },
    ...timeSpanOf(later),
  };
}

function explainChoice(all: readonly WindowProposal[], { text }: Window): string {
  const own = all.find(({ window }) => window === text) as WindowProposal;
  if (all.length === 1) return "It is the only window considered.";
  const usable = all.filter(({ isLogLongEnough }) => isLogLongEnough);
  if (usable.length === 0) return "The log is too short for all windows.";
  if (usable.length === 1) return "The log is too short for the other windows.";
  const [shortest, longest] = [usable.at(0), usable.at(-1)].map((one) => one?.window);
  return `A short window allows one client many requests over a day, a long one allows it many at once. ${text} is the best compromise: at once it allows ${own.excessAtOnce} times what the target needs within ${shortest}, and over ${longest} it allows ${own.excessOverTime} times what the target needs. Every other window is worse in one of the two.`;
}

/** Rounds to two digits. */
function round(times: number): number {
  return Number(times.toPrecision(2));
}
