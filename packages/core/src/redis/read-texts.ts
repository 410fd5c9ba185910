import { readInteger } from "../operations/list-script.ts";
import { textsLua } from "../operations/lua.generated.ts";
import type { RedisClient } from "./client-port.ts";
import { fromClient } from "./client-port.ts";
import { recoverOn } from "./script-recovery.ts";
import { toStoreError } from "./store-error.ts";
import { topologyOf } from "./topology.ts";

/** The value of a key. */
export interface FoundText {
  readonly key: string;
  /** Undefined if there is none. */
  readonly text: string | undefined;
  readonly isWrongType: boolean;
  /** Whether it is too long to be read. */
  readonly isTooLong: boolean;
}

/** The longest string that is read, in bytes: longer than an index of 10,000 processes, or a process with 1,000 limiters. */
const LONGEST = 524_288;

/** The most bytes that are read at once; strings beyond that count as too long. */
const MOST_BYTES = 134_217_728;

/** The most keys that one script reads. */
const TOGETHER = 128;

/** Reads strings, all in one hash slot. Rejects like a store. */
export async function readTexts(
  client: RedisClient,
  keys: readonly string[],
): Promise<readonly FoundText[]> {
  const port = fromClient(client);
  const recover = recoverOn(port);
  const { nodeOf, followsCluster } = topologyOf(client);
  const found: FoundText[] = [];
  let left = MOST_BYTES;
  try {
    for (let at = 0; at < keys.length; at += TOGETHER) {
      const some = keys.slice(at, at + TOGETHER);
      if (left < 0) {
        found.push(...some.map((key) => readText(key, -2)));
        continue;
      }
      const args = [String(LONGEST)];
      const reply = await port
        .evalshaBuffer(textsLua.sha1, some.length, ...some, ...args)
        .catch((error) =>
          recover(error, { script: textsLua, keys: some, args, node: nodeOf(some[0] as string) }),
        );
      const texts = some.map((key, i) => readText(key, (reply as readonly unknown[])[i]));
      for (const { text = "" } of texts) left -= text.length;
      found.push(...texts);
    }
  } catch (error) {
    throw toStoreError(error, followsCluster);
  }
  return found;
}

/** The script returns bytes, or a number if there is no string; a client may be configured to return numbers as strings. */
function readText(key: string, reply: unknown): FoundText {
  const text = Buffer.isBuffer(reply) ? reply.toString() : undefined;
  const state = text === undefined ? readInteger(reply) : 0;
  return { key, text, isWrongType: state === -1, isTooLong: state === -2 };
}
