import { shareByClient } from "../common/client-state.ts";
import { withoutCommand } from "./store-error.ts";

interface Emitter {
  on(event: "error", listener: (error: unknown) => void): unknown;
  listenerCount(event: "error"): number;
}

/** The errors that a client reports. */
export interface ClientErrors {
  /** The latest error, if it came within the last minute: an older one does not explain the current state. */
  recent(): Error | undefined;
}

const RECENT_MS = 60_000;

/**
 * Listens for a client's errors, to log why it does not answer. Without any listener, node-redis would end the process at the
 * first lost connection. If the application has none, the first error becomes a process warning with the code
 * `HEADGATE_REDIS_CLIENT_ERROR`.
 */
export const listenForErrors: (client: object) => ClientErrors = shareByClient(
  "errors",
  (client) => {
    let last: Error | undefined;
    let lastAt = Number.NEGATIVE_INFINITY;
    const errors = { recent: () => (performance.now() - lastAt < RECENT_MS ? last : undefined) };
    if (!isEmitter(client)) return errors;
    let isReported = client.listenerCount("error") > 0;
    client.on("error", (error) => {
      last = withoutCommand(error);
      lastAt = performance.now();
      if (!isReported) warn(last);
      isReported = true;
    });
    return errors;
  },
);

function warn({ message }: Error): void {
  process.emitWarning(
    `The Redis client reports: ${message}. Add an "error" listener to see every error.`,
    { type: "HeadgateWarning", code: "HEADGATE_REDIS_CLIENT_ERROR" },
  );
}

function isEmitter(client: object): client is Emitter {
  return "on" in client && "listenerCount" in client;
}
