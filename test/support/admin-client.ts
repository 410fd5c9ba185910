import { Redis } from "ioredis";
import type { RedisProcess } from "./redis-process.ts";

/** A server that takes longer counts as frozen. */
const COMMAND_TIMEOUT_MS = 1_000;

export interface AdminClient {
  /** Sends a command, whose reply has strings, lists and numbers (RESP2). Rejects after one second without a reply. */
  command(command: string, ...args: readonly (string | number)[]): Promise<unknown>;
  close(): void;
}

/** Opens a client apart from those under test. It uses the socket of the server, and reconnects after restarts. */
export function openAdminClient(server: RedisProcess): AdminClient {
  const client = new Redis(server.socket, {
    commandTimeout: COMMAND_TIMEOUT_MS,
    protocol: 2,
    retryStrategy: () => 20,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
  });
  client.on("error", () => {});
  return {
    command: (command, ...args) => client.call(command, ...args.map(String)),
    close: () => client.disconnect(),
  };
}
