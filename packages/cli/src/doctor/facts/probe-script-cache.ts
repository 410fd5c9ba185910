import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { ServerConnection } from "./fact.ts";
import { redactedMessage } from "./fact.ts";

const SCRIPT = "return 'headgate doctor'";
const SHA1 = createHash("sha1").update(SCRIPT).digest("hex");

const WATCH_MS = 250;
const PAUSE_MS = 25;

/** Whether a server kept a script that it was sent. */
export interface ScriptCacheProbe {
  /** For how long it was watched, in milliseconds. */
  readonly watchedMs: number;
  /** After so many it was gone; undefined where it was there to the end. */
  readonly lostAfterMs: number | undefined;
}

/** Sends a script, and sees whether the server keeps it. Rejects with the server's words. */
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
