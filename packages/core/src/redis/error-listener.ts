import { withoutCommand } from "./store-error.ts";

interface Emitter {
  on(event: "error", listener: (error: unknown) => void): unknown;
  listenerCount(event: "error"): number;
}

/** What a client last said was wrong. */
export interface ClientErrors {
  last: Error | undefined;
}

/** One listener for each client, however many stores are made on it. */
const listening = new WeakMap<object, ClientErrors>();

/**
 * Listens for a client's errors, to tell the operator why it does not answer. Where nobody else listens, node-redis would
 * end the process at the first lost connection without this, and the first error is told as a process warning with the
 * code `HEADGATE_CLIENT_ERROR`.
 */
export function listenForErrors(client: object): ClientErrors {
  const known = listening.get(client);
  if (known !== undefined) return known;
  const errors: ClientErrors = { last: undefined };
  listening.set(client, errors);
  if (!isEmitter(client)) return errors;
  let isTold = client.listenerCount("error") > 0;
  client.on("error", (error) => {
    errors.last = withoutCommand(error);
    if (!isTold) warn(error);
    isTold = true;
  });
  return errors;
}

function warn(error: unknown): void {
  const reason = error instanceof Error ? error.message : String(error);
  process.emitWarning(
    `The Redis client reports: ${reason}. Add an "error" listener to see every error.`,
    { type: "HeadgateWarning", code: "HEADGATE_CLIENT_ERROR" },
  );
}

function isEmitter(client: object): client is Emitter {
  return "on" in client && "listenerCount" in client;
}
