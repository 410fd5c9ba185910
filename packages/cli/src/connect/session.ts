import type { Admin } from "@headgate/core/operate";
import { createAdmin } from "@headgate/core/operate";
import type { CommandContext } from "../command/cli.ts";
import type { Connection, ConnectionOptions } from "./connection.ts";
import { withConnection } from "./connection.ts";

/** A connection, and what can be done there. */
export interface Session {
  readonly connection: Connection;
  readonly operator: Admin;
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
    const began = performance.now();
    const clock = await serverNow(connection);
    const now = (): number => clock + performance.now() - began;
    const admin = createAdmin(connection.store, { storeTimeout: connection.timeoutMs });
    return work({ connection, operator: admin, now });
  });
}

/** The server's clock, in milliseconds since the epoch; this machine's where the user may not ask for it. */
async function serverNow({ client }: Connection): Promise<number> {
  try {
    const [seconds, microseconds] = await client.time();
    return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
  } catch {
    return Date.now();
  }
}
