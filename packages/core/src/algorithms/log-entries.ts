/** The entries of a sliding log, oldest first, numbered from 1 as in the Lua twin. */
export interface LogEntries {
  count(): number;
  /** The arrival time of entry `i`, in microseconds on the log's clock. */
  time(i: number): number;
  /** The running total of units through entry `i`. */
  total(i: number): number;
  append(time: number, total: number): void;
  set(i: number, time: number, total: number): void;
  /** Removes the newest entry. */
  pop(): void;
  /** Removes the `count` oldest entries. */
  drop(count: number): void;
  /** A copy to append to, valid while this log does not change. */
  copy(): LogEntries;
}

/** Entries in this process: two arrays, whose unused front is cut off once it is the larger part. O(1) for each entry. */
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

    copy() {
      return createCopy(this, () => createLogEntries(times.slice(first), totals.slice(first)));
    },
  };
}

/** A copy that reads the original until it is used for anything but appending, so that a peek copies nothing. */
function createCopy(original: LogEntries, duplicate: () => LogEntries): LogEntries {
  const originalCount = original.count();
  const added = createLogEntries();
  let own: LogEntries | undefined;

  function detach(): LogEntries {
    if (own !== undefined) return own;
    own = duplicate();
    for (let i = 1; i <= added.count(); i += 1) own.append(added.time(i), added.total(i));
    return own;
  }

  return {
    count: () => own?.count() ?? originalCount + added.count(),
    time: (i) =>
      own?.time(i) ?? (i <= originalCount ? original.time(i) : added.time(i - originalCount)),
    total: (i) =>
      own?.total(i) ?? (i <= originalCount ? original.total(i) : added.total(i - originalCount)),
    append: (time, total) => (own ?? added).append(time, total),
    set: (i, time, total) => detach().set(i, time, total),
    pop: () => detach().pop(),
    drop: (count) => detach().drop(count),
    copy() {
      return detach().copy();
    },
  };
}
