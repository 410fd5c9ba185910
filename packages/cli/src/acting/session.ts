import type { Operator } from "@headgate/core/operate";
import { operate } from "@headgate/core/operate";
import type { Surroundings } from "../command/surroundings.ts";
import type { Connection, ConnectionOptions } from "../connect/connection.ts";
import { connect } from "../connect/connection.ts";
import { serverNow } from "../output/time.ts";

/** A connection, and what can be done there. */
export interface Session {
  readonly connection: Connection;
  readonly operator: Operator;
  /** The server's clock, in milliseconds since the epoch. */
  now(): number;
}

/** Works on a connection, and closes it. Rejects as `connect`, and as the work. */
export async function withSession<T>(
  options: ConnectionOptions,
  surroundings: Surroundings,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const connection = await connect(options, surroundings);
  try {
    const began = performance.now();
    const clock = await serverNow(connection);
    const now = (): number => clock + performance.now() - began;
    const operator = operate(connection.store, { storeTimeout: connection.timeoutMs });
    return await work({ connection, operator, now });
  } finally {
    await connection.close();
  }
}
