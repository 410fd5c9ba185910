import type { Admin } from "@headgate/core/admin";
import { createAdmin } from "@headgate/core/admin";
import type { CommandContext } from "../command/cli.ts";
import type { Connection, ConnectionOptions } from "./connection.ts";
import { withConnection } from "./connection.ts";

/** A connection with the admin API and the server's clock. */
export interface Session {
  readonly connection: Connection;
  readonly admin: Admin;
  /** The server's clock, in milliseconds since the epoch. */
  now(): number;
}

/** Runs `work` on a connection and closes it afterwards. Rejects like `connect` and `work`. */
export function withSession<T>(
  options: ConnectionOptions,
  context: CommandContext,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  return withConnection(options, context, async (connection) => {
    const start = performance.now();
    const serverTime = await readServerTime(connection);
    const now = (): number => serverTime + performance.now() - start;
    const admin = createAdmin(connection.store, { storeTimeout: connection.timeoutMs });
    return work({ connection, admin: admin, now });
  });
}

/** The server's time in milliseconds since the epoch, or this machine's if the user may not run TIME. */
async function readServerTime({ client }: Connection): Promise<number> {
  try {
    const [seconds, microseconds] = await client.time();
    return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
  } catch {
    return Date.now();
  }
}
