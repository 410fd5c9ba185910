interface Emitter {
  on(event: "error", listener: (error: unknown) => void): unknown;
  listenerCount(event: "error"): number;
}

/**
 * Listens for a client's errors where nobody does. Without a listener node-redis would end the process at the first lost
 * connection. The first error is told as a process warning with the code `HEADGATE_CLIENT_ERROR`.
 */
export function listenForErrors(client: object): void {
  if (!isEmitter(client) || client.listenerCount("error") > 0) return;
  let told = false;
  client.on("error", (error) => {
    if (told) return;
    told = true;
    const reason = error instanceof Error ? error.message : String(error);
    process.emitWarning(
      `The Redis client reports: ${reason}. Add an "error" listener to see every error.`,
      {
        type: "HeadgateWarning",
        code: "HEADGATE_CLIENT_ERROR",
      },
    );
  });
}

function isEmitter(client: object): client is Emitter {
  return "on" in client && "listenerCount" in client;
}
