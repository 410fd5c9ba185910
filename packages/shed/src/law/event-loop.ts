/** The event loop of a process, as far as the law reads and uses it. Times are milliseconds. */
export interface EventLoop {
  /** A clock that never steps. */
  now(): number;
  /** The Unix time, which steps when the machine's clock is set. */
  date(): number;
  /** How long the loop has waited for events so far. */
  idleTime(): number;
  /** Calls back after the events that have arrived in this turn of the loop. */
  setImmediate(callback: () => void): void;
  /** Calls back when the current callback is over, and so are the promise reactions that it caused without waiting for an event. */
  afterReactions(callback: () => void): void;
  /** Calls back after a time; does not keep the process alive. */
  setTimeout(callback: () => void, ms: number): void;
}
