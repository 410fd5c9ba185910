import { inspect } from "node:util";
import { shareInProcess } from "./client-state.ts";
import type { HeadgateError, HeadgateErrorCode } from "./errors.ts";

const REPEAT_MS = 3_600_000;

/** Errors that name a hash slot and a server; with other names they are the same problem. */
const REDIRECTION = /^(?:MOVED|ASK) .*/s;

/** The most different messages logged for one code. */
const MAX_MESSAGES = 20;

export function createOperatorLog(): OperatorLog {
  const logs = new Set<LogFunction>();
  /** When each message was last logged, by code. */
  const logged = new Map<HeadgateErrorCode, Map<string, number>>();

  function log(code: HeadgateErrorCode, message: string, error?: Error): void {
    if (logs.size === 0) emitWarning(code, message);
    for (const write of logs) {
      try {
        write(code, message, error);
      } catch {
        // A log that fails must not fail requests, and the message must not be lost.
        emitWarning(code, message);
      }
    }
  }

  return {
    log,

    logThrottled(
      error,
      consequence = "limits are decided by onUnavailable, and breakers by this process alone",
    ) {
      // The server's message, without the keys that it names.
      const cause = error.cause instanceof Error ? error.cause.message : "";
      const words = cause.replace(REDIRECTION, "");
      const now = performance.now();
      const before = logged.get(error.code) ?? new Map<string, number>();
      logged.set(error.code, before);
      for (const [word, at] of before) if (now - at >= REPEAT_MS) before.delete(word);
      if (before.has(words) || before.size >= MAX_MESSAGES) return;
      before.set(words, now);
      log(error.code, `${formatWithCause(error)}; ${consequence}`, error);
    },

    addLog(write) {
      logs.add(write);
      return () => logs.delete(write);
    },
  };
}

/** An error with the message of its cause, for the operator only. */
export function formatWithCause({ message, cause }: HeadgateError): string {
  if (cause === undefined) return message;
  return `${message} (${cause instanceof Error ? cause.message || cause.name : inspect(cause)})`;
}

/** Emits a process warning, used when there is no log. `detail` is printed below the message. */
export function emitWarning(code: string, message: string, detail?: string): void {
  const more = detail === undefined ? {} : { detail };
  process.emitWarning(`Headgate: ${message}`, { type: "HeadgateWarning", code, ...more });
}

/** The codes of the warnings that each application, or the process, has got. */
export const warnedCodes: () => WeakMap<object, Set<string>> = shareInProcess(
  "warnings",
  () => new WeakMap(),
);

/** Whether a warning is new for an application, or for `process`: with many limiters it is logged once. */
export function isFirstWarning(application: object, code: HeadgateErrorCode): boolean {
  const codes = warnedCodes().get(application) ?? new Set();
  warnedCodes().set(application, codes);
  if (codes.has(code)) return false;
  codes.add(code);
  return true;
}

/** Logs something for the operator. */
export type LogFunction = (code: HeadgateErrorCode, message: string, error?: Error) => void;

/** Messages for the operator: process warnings, or entries in the added logs. */
export interface OperatorLog {
  readonly log: LogFunction;
  /** Logs an error that waiting will not fix, and its consequence; the same message at most once an hour. */
  logThrottled(error: HeadgateError, consequence?: string): void;
  /** Writes to `log` instead of process warnings, until the returned function is called. */
  addLog(log: LogFunction): () => void;
}
