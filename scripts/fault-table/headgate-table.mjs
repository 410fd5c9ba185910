import { formatTable, largest, sum, wrap } from "./markdown-table.mjs";

/** One table for each topic, so that each fits a screen. */
const TABLES = [
  {
    title: "How long answers take:",
    head: ["fault", "longest decision, ms", "longest HTTP answer, ms", "within 1 ms, once down"],
    row: formatAnswers,
  },
  {
    title: "How soon Redis decides again:",
    head: ["fault", "ioredis reconnects, s", "node-redis reconnects, s", "then Redis decides, s"],
    row: formatReturn,
  },
  {
    title: "What is admitted and charged:",
    head: ["fault", "admitted, of at most", "charged in vain", "errors", "heap, MB"],
    row: formatCounts,
  },
];

/** Each row is the worst of all rounds and callers. */
export function formatHeadgateTable(results) {
  const rounds = results.flatMap((result) => result.rounds);
  const seeds = rounds.map(({ seed }) => seed);
  const requests = sum(rounds.flatMap(({ callers }) => callers.map((caller) => caller.requests)));
  const raw = largest(
    rounds.flatMap(({ callers }) => callers.map((caller) => caller.longestAnswerMs)),
  );
  const stall = largest(rounds.map(({ longestStallMs }) => longestStallMs));
  const share = sum(rounds.map(({ stalledShare }) => stalledShare)) / rounds.length;
  const logged = sum(rounds.map(({ changes }) => changes.downLines + changes.upLines));
  const notes = [
    "Each row is the worst of all rounds and of six callers: the core, Fastify and Express, each through both clients.",
    "A client's reconnection counts from the end of the fault; Redis decides again that much later. Charged in vain: units that Redis holds for calls that timed out.",
    `${results[0].ranOn}; ${rounds.length} rounds, ${requests.toLocaleString("en-US")} requests, seeds ${Math.min(...seeds)} to ${Math.max(...seeds)}.`,
    `Times leave out those in which the event loop stood still on this busy machine: ${(share * 100).toFixed(0)} % of the time, ${stall.toFixed(0)} ms at the longest. With them the longest answer took ${raw.toFixed(0)} ms.`,
    `State changes logged: ${logged}, each once.`,
  ];
  const tables = TABLES.map(
    ({ title, head, row }) => `${title}\n\n${formatTable(head, results.map(row))}`,
  );
  return [...tables, listFaults(results), ...notes.map(wrap)].join("\n\n");
}

/** Lists the faults of the rows. */
function listFaults(results) {
  return results.map(({ fault, title }) => `- ${fault}: ${title}`).join("\n");
}

function formatAnswers({ fault, rounds }) {
  const callers = rounds.flatMap((round) => round.callers);
  const over = callers.filter(({ caller }) => !caller.startsWith("core"));
  const whileDown = sum(callers.map((caller) => caller.whileDown));
  const atOnce = sum(callers.map((caller) => caller.whileDownAtOnce));
  return [
    fault,
    largest(callers.map((caller) => caller.longestNetMs)).toFixed(0),
    largest(over.map((caller) => caller.longestAnswerNetMs)).toFixed(0),
    whileDown === 0 ? "–" : `${((atOnce / whileDown) * 100).toFixed(1)} %`,
  ];
}

function formatReturn({ fault, rounds }) {
  const callers = rounds.flatMap((round) => round.callers);
  const delays = ["ioredis", "node-redis"].map((library) => formatDelay(callers, library));
  return [fault, ...delays, formatRecovery(callers)];
}

function formatCounts({ fault, rounds }) {
  const callers = rounds.flatMap((round) => round.callers);
  const worst = callers.reduce((most, next) =>
    next.admitted / next.bound > most.admitted / most.bound ? next : most,
  );
  const last = rounds.at(-1);
  return [
    fault,
    `${worst.admitted} of ${worst.bound}`,
    formatVain(rounds),
    String(sum(callers.flatMap((caller) => Object.values(caller.errors)))),
    `${last.heapBefore.toFixed(1)} → ${last.heapAfter.toFixed(1)}`,
  ];
}

/** From healing to the client's own connection. */
function formatDelay(callers, library) {
  const delays = callers
    .filter((caller) => caller.library === library && caller.reconnectMs !== null)
    .map(({ reconnectMs }) => reconnectMs);
  return delays.length === 0 ? "–" : (largest(delays) / 1_000).toFixed(1);
}

function formatRecovery(callers) {
  if (callers.some(({ recoveryNetMs }) => recoveryNetMs === null)) return "never";
  return (largest(callers.map(({ recoveryNetMs }) => recoveryNetMs)) / 1_000).toFixed(2);
}

/** Units that the store holds for calls that timed out, per 1,000 that it admitted. */
function formatVain(rounds) {
  const known = rounds.filter(({ charged }) => charged !== null);
  if (known.length === 0) return "unknown";
  const vain = sum(known.map((round) => Math.max(0, round.charged - round.admittedByStore)));
  return `${vain} of ${sum(known.map(({ charged }) => charged))}`;
}
