import type { Admin } from "@headgate/core/admin";
import { createAdmin } from "@headgate/core/admin";
import type { CommandContext } from "../command/cli.ts";
import type { Connection, ConnectionOptions } from "./connection.ts";
import { withConnection } from "./connection.ts";

/** A connection, and what can be done there. */
export interface Session {
  readonly connection: Connection;
  readonly admin: Admin;
  /** The server's clock, in milliseconds since the epoch. */
  now(): number;
}

/** Works on a connection, and closes it. Rejects as `connect`, and as the work. */
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

/** The server's clock, in milliseconds since the epoch; this machine's where the user may not ask for it. */
async function readServerTime({ client }: Connection): Promise<number> {
  try {
    const [seconds, microseconds] = await client.time();
    return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
  } catch {
    return Date.now();
  }
}
