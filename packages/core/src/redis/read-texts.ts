import { readInteger } from "../store/list-script.ts";
import { textsLua } from "../store/lua.generated.ts";
import type { RedisClient } from "./client-port.ts";
import { fromClient } from "./client-port.ts";
import { createScriptRunner } from "./script-runner.ts";
import { toStoreError } from "./store-error.ts";
import { topologyOf } from "./topology.ts";

/** The value of a key. */
export interface FoundText {
  readonly key: string;
  /** Undefined if there is none. */
  readonly text: string | undefined;
  readonly isWrongType: boolean;
}

/** The most keys that one script reads. */
const TOGETHER = 128;

/** Reads strings, all in one cluster slot. Rejects as a store does. */
export async function readTexts(
  client: RedisClient,
  keys: readonly string[],
): Promise<readonly FoundText[]> {
  const runner = createScriptRunner(fromClient(client));
  const { nodeOf, followsCluster } = topologyOf(client);
  const found: FoundText[] = [];
  try {
    for (let at = 0; at < keys.length; at += TOGETHER) {
      const some = keys.slice(at, at + TOGETHER);
      const reply = await runner.run(textsLua, nodeOf(some[0] as string), some, []);
      found.push(...some.map((key, i) => readText(key, (reply as readonly unknown[])[i])));
    }
  } catch (error) {
    throw toStoreError(error, followsCluster);
  }
  return found;
}

/** The script answers bytes, or a number where there is no string; a client may be set to hand numbers over as strings. */
function readText(key: string, reply: unknown): FoundText {
  if (Buffer.isBuffer(reply)) return { key, text: reply.toString(), isWrongType: false };
  return { key, text: undefined, isWrongType: readInteger(reply) === -1 };
}
