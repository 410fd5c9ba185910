/**
 * The names under which Headgate publishes on `node:diagnostics_channel`. The messages are `StoreDown`, `StoreUp`,
 * `StoreServer`, `DegradedDecision`, `PublishedDecision`, `ListedRequest` and, of what is in use, `InUse`.
 */
export const CHANNELS = {
  /** A server stopped answering. */
  storeDown: "headgate:store:down",
  /** It answers again. */
  storeUp: "headgate:store:up",
  /** How a server is doing: when that changes, and about once a second while it is asked. */
  storeServer: "headgate:store:server",
  /** A decision was taken without the store. */
  degraded: "headgate:decision:degraded",
  /** A decision was taken. */
  decision: "headgate:decision",
  /** A request was on a list, so no limiter was asked. */
  listed: "headgate:request:listed",
  /** How many calls of `wait` have not been admitted yet. */
  waiting: "headgate:waiting",
  /** How many places are held. */
  places: "headgate:places",
} as const;
