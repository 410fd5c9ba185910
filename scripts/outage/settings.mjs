/** What the run of the picture is made of: times are short, so that an outage fits into a minute. */
export const SETTINGS = {
  processes: 4,
  /** Calls that each process makes, evenly spread. */
  callsPerSecond: 20,
  /** Seconds. */
  lasts: 46,
  failsFrom: 10,
  failsUntil: 30,
  /** In good times too, one call in so many fails. */
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

/** What is counted together, in seconds. */
export const BIN = 0.5;
