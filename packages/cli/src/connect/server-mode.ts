import type { Redis } from "ioredis";
import { messageOf } from "../command/failure.ts";

/** What a server says it is; undefined where it does not say so, as behind a proxy. */
export type ServerMode = string | undefined;

/**
 * Asks a server what it is: `standalone`, `cluster` or `sentinel`. HELLO is open to every user, but to nobody who has not signed in.
 * Rejects with what the server says.
 */
export async function readMode(client: Redis): Promise<ServerMode> {
  try {
    const reply = await client.call("HELLO");
    const words = Array.isArray(reply) ? reply.map(String) : [];
    const at = words.indexOf("mode");
    return at === -1 ? undefined : words[at + 1];
  } catch (error) {
    if (/^(ERR unknown command|NOPROTO|NOPERM)/i.test(messageOf(error))) return undefined;
    throw error;
  }
}
