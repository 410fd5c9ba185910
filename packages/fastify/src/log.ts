import type { Warn } from "@headgate/core/http";
import type { GuardLimiters, LogFunction } from "@headgate/core/internal-http";
import {
  internalsOf,
  isFirstWarning,
  toError,
  emitWarning as warnProcess,
} from "@headgate/core/internal-http";
import type { FastifyInstance } from "fastify";

/** Writes to the application's log, or as a process warning if the application has no logger. */
function write(
  { log }: FastifyInstance,
  level: "warn" | "error",
  code: string,
  message: string,
  err?: Error,
): void {
  // Without a logger all of Fastify's methods are one function that does nothing.
  if (log.error === log.info) warnProcess(code, message);
  else log[level]({ code, err }, message);
}

/** Warns each code once for a server: several plugins may run on it. */
export function createWarn(app: FastifyInstance): Warn {
  return (code, message, _, reason) => {
    if (!isFirstWarning(app.server, code)) return;
    write(app, "warn", code, message, reason === undefined ? undefined : toError(reason));
  };
}

/** One for each server: several plugins may run on it, and an event is logged once. */
const logs = new WeakMap<object, LogFunction>();

/**
 * Writes the events of the limiters' stores to the application's log, until the returned function is called: `error` for events
 * that need attention, `warn` for the rest.
 */
export function logStores(app: FastifyInstance, limiters: GuardLimiters): () => void {
  const log: LogFunction =
    logs.get(app.server) ??
    ((code, message, error) =>
      write(app, code === "HEADGATE_STORE_UP" ? "warn" : "error", code, message, error));
  logs.set(app.server, log);
  const stops = limiters.all.map((limiter) => internalsOf(limiter).monitor?.log.addLog(log));
  return () => {
    for (const stop of stops) stop?.();
  };
}
