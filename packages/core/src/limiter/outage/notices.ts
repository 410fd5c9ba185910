import { inspect } from "node:util";
import type { HeadgateError, HeadgateErrorCode } from "../../errors.ts";
import type { Notices, Tell } from "./outage.ts";

const TELL_AGAIN_MS = 3_600_000;

/** These name a slot and a server, and are one trouble whichever those are. */
const REDIRECTION = /^(?:MOVED|ASK) .*/s;

/** Words of one code without end, each different, are no use to anybody. */
const MANY_WORDS = 20;

export function createNotices(): Notices {
  const tellers = new Set<Tell>();
  /** When words were told, by code. */
  const told = new Map<HeadgateErrorCode, Map<string, number>>();

  function tell(code: HeadgateErrorCode, message: string, error?: Error): void {
    if (tellers.size === 0) warn(code, message);
    for (const teller of tellers) {
      try {
        teller(code, message, error);
      } catch {
        // A log that fails must not fail requests, nor hide what it was told.
        warn(code, message);
      }
    }
  }

  return {
    tell,

    tellOnce(error) {
      // What the server says, and not whose keys it is about.
      const cause = error.cause instanceof Error ? error.cause.message : "";
      const words = cause.replace(REDIRECTION, "");
      const now = performance.now();
      const before = told.get(error.code) ?? new Map<string, number>();
      told.set(error.code, before);
      for (const [word, at] of before) if (now - at >= TELL_AGAIN_MS) before.delete(word);
      if (before.has(words) || before.size >= MANY_WORDS) return;
      before.set(words, now);
      const what = "limits are decided as onUnavailable says, and breakers go on by themselves";
      tell(error.code, `${explain(error)}; ${what}`, error);
    },

    addTeller(teller) {
      tellers.add(teller);
      return () => tellers.delete(teller);
    },
  };
}

/** An error with its cause's words, for the operator only. */
export function explain({ message, cause }: HeadgateError): string {
  if (cause === undefined) return message;
  return `${message} (${cause instanceof Error ? cause.message || cause.name : inspect(cause)})`;
}

/** Tells where there is no log. */
export function warn(code: string, message: string): void {
  process.emitWarning(`Headgate: ${message}`, { type: "HeadgateWarning", code });
}
