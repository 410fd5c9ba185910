import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { ServerConnection } from "./fact.ts";
import { redactedMessage } from "./fact.ts";

const SCRIPT = "return 'headgate doctor'";
const SHA1 = createHash("sha1").update(SCRIPT).digest("hex");

const WATCH_MS = 250;
const PAUSE_MS = 25;

/** Whether a server keeps a script in its cache. */
export interface ScriptCacheProbe {
  /** How long the script was watched. */
  readonly watchedMs: number;
  /** When the script was gone; undefined if the server kept it. */
  readonly lostAfterMs: number | undefined;
}

/** Loads a script and watches for a quarter of a second whether the server keeps it. Rejects with the server's error. */
export async function probeScriptCache(server: ServerConnection): Promise<ScriptCacheProbe> {
  await server.call("EVAL", SCRIPT, "0");
  const start = performance.now();
  const elapsedMs = (): number => Math.round(performance.now() - start);
  while (elapsedMs() < WATCH_MS) {
    await delay(PAUSE_MS);
    try {
      await server.call("EVALSHA", SHA1, "0");
    } catch (error) {
      if (!redactedMessage(error).startsWith("NOSCRIPT")) throw error;
      return { watchedMs: elapsedMs(), lostAfterMs: elapsedMs() };
    }
  }
  return { watchedMs: elapsedMs(), lostAfterMs: undefined };
}
