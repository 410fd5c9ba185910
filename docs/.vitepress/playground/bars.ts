import type { Outcome } from "./decide-all.ts";

/** How many parts the time is drawn in. */
const PARTS = 60;

/** A part of the time: how many requests of a client it admitted and denied. */
export interface Bar {
  readonly fromSeconds: number;
  readonly admitted: number;
  readonly denied: number;
}

/** A client's row of the picture. */
export interface Row {
  readonly client: string;
  readonly bars: readonly Bar[];
  readonly admitted: number;
  readonly sent: number;
  /** The most that was admitted in any window. */
  readonly peak: number;
}

export interface Rows {
  readonly rows: readonly Row[];
  /** The most that any bar holds on one side. */
  readonly most: number;
  /** Seconds that are written below the picture. */
  readonly ticks: readonly number[];
}

/** Counts answers for the picture. */
export function rowsOf({ clients, answers, seconds, window }: Outcome): Rows {
  const rows = clients.map((client) => {
    const own = answers.filter((answer) => answer.client === client);
    const bars = Array.from({ length: PARTS }, (_, i) => ({
      fromSeconds: (i * seconds) / PARTS,
      admitted: 0,
      denied: 0,
    }));
    for (const { atMs, decision } of own) {
      const bar = bars[Math.floor((atMs / 1_000 / seconds) * PARTS)];
      if (bar !== undefined) bar[decision.allowed ? "admitted" : "denied"] += 1;
    }
    const times = own.filter(({ decision }) => decision.allowed).map(({ atMs }) => atMs);
    const peak = mostWithin(times, window.ms);
    return { client, bars, admitted: times.length, sent: own.length, peak };
  });
  const heights = rows.flatMap(({ bars }) =>
    bars.flatMap(({ admitted, denied }) => [admitted, denied]),
  );
  const ticks = Array.from({ length: 7 }, (_, i) => Math.round((i * seconds * 10) / 6) / 10);
  return { rows, most: Math.max(1, ...heights), ticks };
}

/** The most of these times, which ascend, that are less than a window apart. */
function mostWithin(times: readonly number[], windowMs: number): number {
  let first = 0;
  let most = 0;
  times.forEach((time, last) => {
    while ((times[first] as number) <= time - windowMs) first += 1;
    most = Math.max(most, last - first + 1);
  });
  return most;
}
