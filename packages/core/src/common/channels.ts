/**
 * The names under which Headgate publishes on `node:diagnostics_channel`. The messages are `StoreDown`, `StoreUp`,
 * `StoreServer`, `DegradedDecision`, `PublishedDecision`, `ThresholdReached`, `ListedRequest` and, for the numbers in use,
 * `InUseCount`.
 */
export const CHANNELS = {
  /** A server of the store stopped answering. */
  storeDown: "headgate:store:down",
  /** A server of the store answers again. */
  storeUp: "headgate:store:up",
  /** The state of a server of the store: published when it changes, and about once a second while the server is in use. */
  storeServer: "headgate:store:server",
  /** A decision was taken without the store. */
  degraded: "headgate:decision:degraded",
  /** A decision was taken. */
  decision: "headgate:decision",
  /** A threshold of a limit was reached. */
  threshold: "headgate:threshold",
  /** A request's client was on a list, so it was decided without a limiter. */
  listed: "headgate:request:listed",
  /** How many calls of `wait` are waiting for admission. */
  waiting: "headgate:waiting",
  /** How many concurrency slots are held. */
  slots: "headgate:slots",
} as const;
