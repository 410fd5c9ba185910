import { formatTable, sum, wrap } from "./markdown-table.mjs";

/** The number of columns that fit a screen next to the names of the limiters. */
const FAULTS_A_TABLE = 5;

/** Formats tables for each topic: a row for each limiter, a column for each fault. */
export function formatPeerTables(results) {
  const [{ ranOn, rounds }] = results;
  const longest = Math.max(...results.map((result) => result.rounds[0].brokenMs));
  const tables = [
    ["The longest answer:", formatLongest],
    ["Admitted of one subject, whose limit is 20:", ({ admitted }) => String(admitted)],
    ["From the client's reconnection to the first decision by Redis:", formatRecovery],
  ].map(([title, format]) => `${title}\n\n${formatMatrix(results, format)}`);
  const errors = sum(callersOf(results).map(countErrors));
  const rejections = sum(results.flatMap((result) => Object.values(result.rounds[0].unhandled)));
  const failures =
    errors === 0 && rejections === 0
      ? "No client got an error."
      : `Errors that clients got: ${errors}; unhandled rejections: ${rejections}.`;
  const notes = [
    `${failures} "all" stands before a time that lasted until the fault was over. Nobody was waited for longer than 20 s after the end.`,
    "All fail open as they document it: express-rate-limit with `passOnStoreError: true`, @fastify/rate-limit with `skipOnError: true` (as advised: with `connectTimeout: 500, maxRetriesPerRequest: 1` for ioredis, as in its example), rate-limiter-flexible with an `insuranceLimiter` in memory (reject: with `rejectIfRedisNotReady`). Clients have their default options otherwise.",
    `${ranOn}; seed ${rounds[0].seed}; the faults lasted ${(longest / 1_000).toFixed(0)} s at most.`,
  ];
  return [...tables, ...notes.map(wrap)].join("\n\n");
}

function formatMatrix(results, format) {
  const tables = [];
  for (let from = 0; from < results.length; from += FAULTS_A_TABLE) {
    tables.push(formatPart(results.slice(from, from + FAULTS_A_TABLE), format));
  }
  return tables.join("\n\n");
}

function formatPart(results, format) {
  const limiters = results[0].rounds[0].callers.map(({ caller }) => caller);
  const head = ["limiter", ...results.map(({ fault }) => fault)];
  const rows = limiters.map((name) => [
    nameOf(name),
    ...results.map(({ rounds }) => {
      const [round] = rounds;
      return format(
        round.callers.find(({ caller }) => caller === name),
        round,
      );
    }),
  ]);
  return formatTable(head, rows);
}

/** Our own rows also name their framework. */
function nameOf(caller) {
  const name = caller.replace("rejectIfRedisNotReady", "reject");
  return /^(Fastify|Express),/.test(name) ? `**Headgate**, ${name}` : name;
}

function formatLongest({ unanswered, longestAnswerNetMs }, { brokenMs }) {
  if (unanswered > 0) return "no answer within 20 s";
  const seconds = longestAnswerNetMs / 1_000;
  const text = `${seconds.toFixed(seconds < 1 ? 2 : 1)} s`;
  const lastedAsLong = brokenMs > 1_000 && longestAnswerNetMs > 0.9 * brokenMs;
  return lastedAsLong ? `all ${text}` : text;
}

function formatRecovery({ recoveryMs }) {
  return recoveryMs === null ? "never" : `${(recoveryMs / 1_000).toFixed(2)} s`;
}

function callersOf(results) {
  return results.flatMap(({ rounds }) => rounds[0].callers);
}

function countErrors({ errors }) {
  return sum(Object.values(errors));
}
