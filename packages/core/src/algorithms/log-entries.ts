/** The entries of a sliding log, oldest first, numbered from 1 as in the Lua twin. */
export interface LogEntries {
  count(): number;
  /** When entry `i` came, in microseconds on the log's clock. */
  time(i: number): number;
  /** The running total of units through entry `i`. */
  total(i: number): number;
  append(time: number, total: number): void;
  set(i: number, time: number, total: number): void;
  /** Removes the newest. */
  pop(): void;
  /** Removes the `count` oldest. */
  drop(count: number): void;
  copy(): LogEntries;
}

/** Entries in this process: two arrays whose dead front is cut off when it is the larger part, O(1) an entry. */
export function createLogEntries(times: number[] = [], totals: number[] = []): LogEntries {
  let first = 0;

  return {
    count: () => times.length - first,
    time: (i) => times[first + i - 1] as number,
    total: (i) => totals[first + i - 1] as number,

    append(time, total) {
      times.push(time);
      totals.push(total);
    },

    set(i, time, total) {
      times[first + i - 1] = time;
      totals[first + i - 1] = total;
    },

    pop() {
      times.pop();
      totals.pop();
    },

    drop(count) {
      first += count;
      if (first * 2 <= times.length) return;
      times = times.slice(first);
      totals = totals.slice(first);
      first = 0;
    },

    copy: () => createLogEntries(times.slice(first), totals.slice(first)),
  };
}
