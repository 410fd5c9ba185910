import type { ClientTable } from "./client-table.ts";
import { growTo } from "./client-table.ts";
import type { ClientPeaks } from "./result.ts";
import type { Block, Trace } from "./trace.ts";
import { clientAt, timeAt } from "./trace.ts";

/** A window that slides along the log and counts its requests. */
interface MovingWindow {
  readonly lengthMs: number;
  /** The position of the first request: the number of the block, and the index in it. */
  block: number;
  at: number;
  /** The present and the highest number of requests in the window, by subject. */
  current: Uint32Array;
  highest: Uint32Array;
  /** The shortest length of the window, if the trace could not hold all of it. */
  shortestMs: number;
}

/** The most requests of each subject within any window, for several window lengths. A window includes its end, but not its start. */
export class Peaks {
  readonly #windows: readonly MovingWindow[];
  readonly #trace: Trace;
  readonly #clients: ClientTable;

  /** `lengths` are in milliseconds. */
  constructor(lengths: readonly number[], trace: Trace, clients: ClientTable) {
    this.#trace = trace;
    this.#clients = clients;
    this.#windows = lengths.map((lengthMs) => ({
      lengthMs,
      block: 0,
      at: 0,
      current: new Uint32Array(1_024),
      highest: new Uint32Array(1_024),
      shortestMs: lengthMs,
    }));
  }

  /** Counts the last request of the trace. */
  add(time: number, client: number): void {
    const subject = this.#clients.subjectOf(client);
    for (let i = 0; i < this.#windows.length; i += 1) {
      const window = this.#windows[i] as MovingWindow;
      this.#moveTo(window, time - window.lengthMs);
      window.current = growTo(window.current, subject + 1);
      window.highest = growTo(window.highest, subject + 1);
      const requests = (window.current[subject] as number) + 1;
      window.current[subject] = requests;
      if (requests > (window.highest[subject] as number)) window.highest[subject] = requests;
    }
  }

  /** Removes the requests of the first block, which the trace is about to drop. `time` is that of the next request. */
  removeFirstBlock(time: number): void {
    const [block] = this.#trace.blocks;
    if (block === undefined) return;
    for (const window of this.#windows) {
      if (window.block > this.#trace.dropped) continue;
      window.shortestMs = Math.min(window.shortestMs, time - timeAt(block, block.length - 1));
      this.#remove(window, block, block.length);
      window.block += 1;
      window.at = 0;
    }
  }

  read(): readonly ClientPeaks[] {
    return this.#windows.map(({ lengthMs, highest, shortestMs }) => ({
      windowMs: lengthMs,
      counts: countPeaks(highest),
      // A window of full length consists of this many shortest windows, each with at most the same peak.
      error: Math.ceil(lengthMs / Math.max(shortestMs, 1)) - 1,
    }));
  }

  /** Removes the requests up to a time. */
  #moveTo(window: MovingWindow, moment: number): void {
    const { blocks, dropped } = this.#trace;
    for (;;) {
      const block = blocks[window.block - dropped];
      if (block === undefined) return;
      let to = window.at;
      while (to < block.length && timeAt(block, to) <= moment) to += 1;
      this.#remove(window, block, to);
      if (to < block.length || window.block - dropped === blocks.length - 1) return;
      window.block += 1;
      window.at = 0;
    }
  }

  #remove(window: MovingWindow, block: Block, to: number): void {
    for (let i = window.at; i < to; i += 1) {
      const subject = this.#clients.subjectOf(clientAt(block, i));
      window.current[subject] = (window.current[subject] as number) - 1;
    }
    window.at = to;
  }
}

/** The number of clients for each peak, in ascending order of peaks; a peak of 0 does not count. */
export function countPeaks(peaks: Uint32Array): ClientPeaks["counts"] {
  const counts = new Map<number, number>();
  for (const peak of peaks) if (peak > 0) counts.set(peak, (counts.get(peak) ?? 0) + 1);
  return [...counts]
    .sort(([one], [other]) => one - other)
    .map(([peak, clients]) => ({ peak, clients }));
}
