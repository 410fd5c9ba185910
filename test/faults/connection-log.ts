import type { EventEmitter } from "node:events";

/** Records when a client lost its connection and when it was usable again, in milliseconds of `performance.now()`. */
export interface ConnectionLog {
  /** The time of the first "ready" event since a moment; undefined if there was none. */
  readySince(moment: number): number | undefined;
  /** Whether the client considered itself connected at a moment. */
  wasReadyAt(moment: number): boolean;
}

/** Both libraries emit "ready" when they can send commands, and "reconnecting" when they begin to wait for that. */
export function logConnection(client: EventEmitter): ConnectionLog {
  const changes: { readonly at: number; readonly isReady: boolean }[] = [];
  client.on("ready", () => changes.push({ at: performance.now(), isReady: true }));
  client.on("reconnecting", () => changes.push({ at: performance.now(), isReady: false }));
  return {
    readySince: (moment) => changes.find(({ at, isReady }) => isReady && at >= moment)?.at,
    wasReadyAt: (moment) => changes.findLast(({ at }) => at < moment)?.isReady ?? false,
  };
}
