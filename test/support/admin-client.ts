import { Redis } from "ioredis";
import type { RedisProcess } from "./redis-process.ts";

/** A server that takes longer is frozen, or as good as. */
const COMMAND_TIMEOUT_MS = 1_000;

export interface AdminClient {
  /** One command, answered with strings, lists and numbers (RESP2). Rejects after one second without an answer. */
  command(command: string, ...args: readonly (string | number)[]): Promise<unknown>;
  close(): void;
}

/** How a suite speaks to a server behind the back of the clients under test: by its socket, through restarts. */
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
