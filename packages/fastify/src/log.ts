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

/** Logs the events of the stores of some limiters. */
export interface StoreLog {
  listen(limiters: GuardLimiters): void;
  stop(): void;
}

/** One for each server: several plugins may run on it, and an event is logged once. */
const logs = new WeakMap<object, LogFunction>();

/** Writes to the application's log: `error` for events that need attention, `warn` for the rest. */
export function logStores(app: FastifyInstance): StoreLog {
  const log: LogFunction =
    logs.get(app.server) ??
    ((code, message, error) =>
      write(app, code === "HEADGATE_STORE_UP" ? "warn" : "error", code, message, error));
  logs.set(app.server, log);
  const stops: (() => void)[] = [];
  return {
    listen(limiters) {
      for (const limiter of limiters.all) {
        const { monitor } = internalsOf(limiter);
        if (monitor !== undefined) stops.push(monitor.log.addLog(log));
      }
    },
    stop() {
      for (const stop of stops) stop();
    },
  };
}
