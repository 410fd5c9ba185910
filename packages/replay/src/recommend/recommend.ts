import type { Duration } from "@headgate/core";
import { rejectUnknownOptions } from "@headgate/core/internal";
import { formatCount } from "../format/number.ts";
import type { Log, LogEntry } from "../log/log-entry.ts";
import { heapBytesFor } from "../log/memory-budget.ts";
import type { LogCounts, ReadLogOptions } from "../log/read-log.ts";
import { noRequestsError, readLog } from "../log/read-log.ts";
import { countPeaks } from "../replay/peaks.ts";
import type { ReplayPolicy } from "../replay/policies.ts";
import { replayEntries } from "../replay/replay-entries.ts";
import type { ReplayResult } from "../replay/result.ts";
import { startRuns } from "../replay/start-runs.ts";
import type { Algorithm } from "./algorithms.ts";
import { makeLimit, maxAdmitted, requireAlgorithm } from "./algorithms.ts";
import { caveatsOf } from "./caveats.ts";
import type { TightestLimit, Window } from "./choose-window.ts";
import { chooseWindow, excessOf, readWindows } from "./choose-window.ts";
import type {
  HoldoutScore,
  Recommendation,
  ReplayScore,
  Score,
  WindowProposal,
} from "./recommendation.ts";
import type { RecordingRange } from "./recording.ts";
import { Recording, splitInHalf, subjectPeaks, timeSpanOf, wholeRange } from "./recording.ts";
import { createSearch } from "./search.ts";
import type { DenialTarget, Target } from "./target.ts";
import { maxDeniedIn, meetsTarget, readTarget, targetFor } from "./target.ts";

const DAY = 86_400_000;

const DEFAULT_WINDOWS: readonly Duration[] = ["1s", "10s", "1m", "10m", "1h", "1d"];

/** Options of `recommend`. */
export interface RecommendOptions extends ReadLogOptions {
  /** The windows to consider. Default: 1s, 10s, 1m, 10m, 1h and 1d. */
  readonly windows?: readonly Duration[] | undefined;
  /** Default: `gcra`. */
  readonly algorithm?: Algorithm | undefined;
  /** Called after each window, and before the first one with 0: how many of them have been searched. */
  readonly onWindow?: ((searched: number, windows: number) => void) | undefined;
}

const OPTIONS = ["fields", "onBytes", "signal", "windows", "algorithm", "onWindow"];

interface ScoredLimit extends TightestLimit {
  readonly score: Score;
}

interface Search {
  readonly algorithm: Algorithm;
  readonly target: DenialTarget;
  readonly signal: AbortSignal | undefined;
}

/**
 * Recommends the limit that denies as little as the target asks for and grants the least beyond it, and proves it by replays of the log.
 * The log is read once, and takes 16 bytes of memory for each request.
 *
 * Rejects with `HEADGATE_INVALID_OPTION`; with `HEADGATE_LOG_UNREADABLE` if the log cannot be read or contains no requests; with
 * `HEADGATE_LOG_TOO_LARGE` if it does not fit into the memory; and with the reason of the signal.
 */
export async function recommend(
  log: Log,
  target: Target,
  options: RecommendOptions = {},
): Promise<Recommendation> {
  rejectUnknownOptions("recommend", options, OPTIONS);
  const { algorithm = "gcra", onWindow = () => {}, signal } = options;
  requireAlgorithm(algorithm);
  const windows = readWindows(options.windows ?? DEFAULT_WINDOWS);
  readTarget(target);
  const requests = readLog(log, options);
  const recording = new Recording();
  for await (const some of requests) recording.add(some);
  const counts = requests.counts();
  if (recording.length === 0) throw noRequestsError(counts);
  const whole = wholeRange(recording);
  const { length, clients } = recording;
  const search: Search = {
    algorithm,
    signal,
    target: targetFor(target, { requests: length, clients: clients.count }),
  };
  const tightest: ScoredLimit[] = [];
  onWindow(0, windows.length);
  for (const window of windows) {
    tightest.push(await findTightest(whole, window, search));
    onWindow(tightest.length, windows.length);
  }
  const chosen = tightest[chooseWindow(tightest)] as ScoredLimit;
  const candidates = nameCandidates(algorithm, chosen);
  const replayed: ReplayResult = {
    ...(await replayRecording(recording, counts, candidates, signal)),
    peaks: windows.map(({ ms }) => ({
      windowMs: ms,
      counts: countPeaks(subjectPeaks(whole, ms)),
      error: 0,
    })),
  };
  return describe(recording, tightest, chosen, replayed, search);
}

async function describe(
  recording: Recording,
  tightest: readonly ScoredLimit[],
  { window, units, isLogLongEnough, score }: ScoredLimit,
  replayed: ReplayResult,
  search: Search,
): Promise<Recommendation> {
  const { algorithm, target } = search;
  const excess = excessOf(tightest);
  const windows = tightest.map(
    (one, i): WindowProposal => ({
      window: one.window.text,
      units: one.units,
      isLogLongEnough: one.isLogLongEnough,
      excessAtOnce: round(excess[i]?.excessAtOnce as number),
      excessOverTime: round(excess[i]?.excessOverTime as number),
      ...one.score,
    }),
  );
  const maxDenied = maxDeniedIn(target, score);
  const perDay = countPeaks(subjectPeaks(wholeRange(recording), DAY));
  return {
    log: replayed.log,
    target: { of: target.of, percent: target.maxPercent, maxDenied },
    proposal: {
      limit: makeLimit(algorithm, units, window.text),
      window: window.text,
      units,
      reason: explainChoice(windows, window),
      replays: scoreReplays(replayed, units, target),
      holdout: await scoreHoldout(recording, window, units, search),
      maxPerDay: maxAdmitted(algorithm, units, window.ms, DAY),
      busiestClientPerDay: perDay.at(-1)?.peak as number,
    },
    windows,
    caveats: caveatsOf(
      recording,
      replayed,
      { window, units, isLogLongEnough },
      { windows: tightest.map((one) => one.window), target, maxDenied },
    ),
    replay: replayed,
  };
}

async function findTightest(
  range: RecordingRange,
  window: Window,
  search: Search,
): Promise<ScoredLimit> {
  const limits = createSearch(range, { ...search, window });
  const units = await limits.findTightest();
  const { from, to } = timeSpanOf(range);
  const isLogLongEnough = to - from >= 2 * window.ms;
  return { window, units, isLogLongEnough, score: await limits.score(units) };
}

/** The units to replay: the recommended ones, one fewer, half of them, and twice as many. */
function candidateUnits(units: number): readonly number[] {
  const all = [units, units - 1, Math.floor(units / 2), units * 2];
  return [...new Set(all)].filter((one) => one > 0);
}

/** The candidates as policies with names for the report. */
function nameCandidates(
  algorithm: Algorithm,
  { units: recommended, window: { text } }: TightestLimit,
): readonly ReplayPolicy[] {
  return candidateUnits(recommended).map((units, i) => ({
    name: `${formatCount(units)} per ${text}${i === 0 ? ", recommended" : ""}`,
    limits: [makeLimit(algorithm, units, text)],
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
  window: Window,
  units: number,
  search: Search,
): Promise<HoldoutScore | null> {
  const halves = splitInHalf(recording);
  if (halves === undefined) return null;
  const [earlier, later] = halves;
  const found = await createSearch(earlier, { ...search, window }).findTightest();
  const unseen = createSearch(later, { ...search, window });
  const score = await unseen.score(found);
  const proposed = found === units ? score : await unseen.score(units);
  const { target } = search;
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
  return `With a short window, a client may make many requests over a day; with a long one, many at once. A window of ${text} is the best compromise. At once, it allows ${own.excessAtOnce} times as many requests as the limit for ${shortest} would. Over ${longest}, it allows ${own.excessOverTime} times as many as the limit for ${longest} would. Every other window is worse in one of the two.`;
}

/** Rounds to two digits. */
function round(times: number): number {
  return Number(times.toPrecision(2));
}

const CHUNK = 4_096;

/** Replays a recording, like `replay` would the log. Rejects with the signal's reason. */
async function replayRecording(
  recording: Recording,
  counts: LogCounts,
  policies: readonly ReplayPolicy[],
  signal: AbortSignal | undefined,
): Promise<ReplayResult> {
  let now = 0;
  const runs = await startRuns(policies, { clock: () => now, storeTimeout: 5_000 });
  const onTime = (time: number): void => {
    now = time;
  };
  const requests = {
    [Symbol.asyncIterator]: () => requestsOf(recording),
    counts: () => counts,
  };
  const clientBytes = heapBytesFor("clients") / 2;
  try {
    return await replayEntries(requests, { policies, runs, onTime, signal, clientBytes });
  } finally {
    await Promise.all(runs.map((run) => run.close()));
  }
}

async function* requestsOf(recording: Recording): AsyncGenerator<readonly LogEntry[]> {
  for (let start = 0; start < recording.length; start += CHUNK) {
    const length = Math.min(CHUNK, recording.length - start);
    yield Array.from({ length }, (_, i) => recording.entryOf(start + i));
  }
}
