import { readInteger } from "../operations/list-script.ts";
import { textsLua } from "../operations/lua.generated.ts";
import type { RedisClient } from "./client-port.ts";
import { fromClient } from "./client-port.ts";
import { createScriptRetry } from "./script-retry.ts";
import { toStoreError } from "./store-error.ts";
import { topologyOf } from "./topology.ts";

/** The string value of a key. */
export interface StringValue {
  readonly key: string;
  /** Undefined if the key does not exist, or holds no string. */
  readonly text: string | undefined;
  readonly isWrongType: boolean;
  /** Whether the string is too long to be read. */
  readonly isTooLong: boolean;
}

/** The longest string that is read, in bytes: longer than an index of 10,000 processes, or a process with 1,000 limiters. */
const MAX_STRING_BYTES = 524_288;

/** The most bytes that are read at once; strings beyond that count as too long. */
const MAX_TOTAL_BYTES = 134_217_728;

/** The most keys that one script reads. */
const MAX_KEYS_PER_SCRIPT = 128;

/** Reads strings, all in one hash slot. Rejects like a store. */
export async function readStrings(
  client: RedisClient,
  keys: readonly string[],
): Promise<readonly StringValue[]> {
  const port = fromClient(client);
  const retry = createScriptRetry(port);
  const { nodeOf, followsCluster } = topologyOf(client);
  const found: StringValue[] = [];
  let bytesLeft = MAX_TOTAL_BYTES;
  try {
    for (let at = 0; at < keys.length; at += MAX_KEYS_PER_SCRIPT) {
      const batch = keys.slice(at, at + MAX_KEYS_PER_SCRIPT);
      if (bytesLeft < 0) {
        found.push(...batch.map((key) => readString(key, -2)));
        continue;
      }
      const args = [String(MAX_STRING_BYTES)];
      const reply = await port
        .evalshaBuffer(textsLua.sha1, batch.length, ...batch, ...args)
        .catch((error) =>
          retry(error, { script: textsLua, keys: batch, args, node: nodeOf(batch[0] as string) }),
        );
      const texts = batch.map((key, i) => readString(key, (reply as readonly unknown[])[i]));
      for (const { text = "" } of texts) bytesLeft -= text.length;
      found.push(...texts);
    }
  } catch (error) {
    throw toStoreError(error, followsCluster);
  }
  return found;
}

/** The script returns bytes, or a number if there is no string; a client may be configured to return numbers as strings. */
function readString(key: string, reply: unknown): StringValue {
  const text = Buffer.isBuffer(reply) ? reply.toString() : undefined;
  const state = text === undefined ? readInteger(reply) : 0;
  return { key, text, isWrongType: state === -1, isTooLong: state === -2 };
}
