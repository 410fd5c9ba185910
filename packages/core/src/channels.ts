/**
 * The names under which Headgate publishes on `node:diagnostics_channel`. The messages are `StoreDown`, `StoreUp`,
 * `DegradedDecision` and `PublishedDecision`.
 */
export const CHANNELS = {
  /** A server stopped answering. */
  storeDown: "headgate:store:down",
  /** It answers again. */
  storeUp: "headgate:store:up",
  /** A decision was taken without the store. */
  degraded: "headgate:decision:degraded",
  /** A decision was taken. */
  decision: "headgate:decision",
} as const;
