import type { EventEmitter } from "node:events";

/** When a client lost its connection and when it could be used again, in milliseconds of `performance.now()`. */
export interface ConnectionLog {
  /** The first "ready" since a moment. Undefined when there was none. */
  readySince(moment: number): number | undefined;
  /** Whether the client believed itself connected at a moment. */
  wasReadyAt(moment: number): boolean;
}

/** Both libraries say "ready" when commands can be sent, and "reconnecting" when they begin to wait for that. */
export function logConnection(client: EventEmitter): ConnectionLog {
  const changes: { readonly at: number; readonly isReady: boolean }[] = [];
  client.on("ready", () => changes.push({ at: performance.now(), isReady: true }));
  client.on("reconnecting", () => changes.push({ at: performance.now(), isReady: false }));
  return {
    readySince: (moment) => changes.find(({ at, isReady }) => isReady && at >= moment)?.at,
    wasReadyAt: (moment) => changes.findLast(({ at }) => at < moment)?.isReady ?? false,
  };
}
