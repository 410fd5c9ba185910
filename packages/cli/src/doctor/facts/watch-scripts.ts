import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Asker } from "./fact.ts";
import { wordsOf } from "./fact.ts";

const SCRIPT = "return 'headgate doctor'";
const SHA1 = createHash("sha1").update(SCRIPT).digest("hex");

const WATCH_MS = 250;
const PAUSE_MS = 25;

/** Whether a server kept a script that it was sent. */
export interface ScriptWatch {
  /** For how long it was watched, in milliseconds. */
  readonly watched: number;
  /** After so many it was gone; undefined where it was there to the end. */
  readonly lostAfter: number | undefined;
}

/** Sends a script, and sees whether the server keeps it. Rejects with the server's words. */
export async function watchScripts(server: Asker): Promise<ScriptWatch> {
  await server.ask("EVAL", SCRIPT, "0");
  const start = performance.now();
  const since = (): number => Math.round(performance.now() - start);
  while (since() < WATCH_MS) {
    await delay(PAUSE_MS);
    try {
      await server.ask("EVALSHA", SHA1, "0");
    } catch (error) {
      if (!wordsOf(error).startsWith("NOSCRIPT")) throw error;
      return { watched: since(), lostAfter: since() };
    }
  }
  return { watched: since(), lostAfter: undefined };
}
