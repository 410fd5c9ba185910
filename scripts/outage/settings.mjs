/** The settings of the run: its times are short, so that an outage fits into a minute. */
export const SETTINGS = {
  processes: 4,
  /** Calls that each process makes, evenly spread. */
  callsPerSecond: 20,
  /** Seconds. */
  lasts: 46,
  failsFrom: 10,
  failsUntil: 30,
  /** Even before the outage, one call in so many fails. */
  oneFailureIn: 50,
  breaker: {
    name: "outage",
    window: "10s",
    minimumSuccessRate: 0.5,
    minimumCalls: 20,
    openFor: "4s",
    trialCalls: 5,
    rampUp: "5s",
  },
};

/** The width of a bin of the counts, in seconds. */
export const BIN = 0.5;
