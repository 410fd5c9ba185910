import type { GuardLimiters, Log } from "@headgate/core/http";
import { partsOf } from "@headgate/core/http";
import type { FastifyInstance } from "fastify";
import { writeNotice } from "./operator-log.ts";

/** Logs what happens to the stores of some limiters. */
export interface StoreLog {
  listen(limiters: GuardLimiters): void;
  stop(): void;
}

/** One for each server: several plugins may run on it, and what happens is logged once. */
const logs = new WeakMap<object, Log>();

/** Writes to the application's log: `error` for what needs attention, `warn` for the rest. */
export function logStores(app: FastifyInstance): StoreLog {
  const log = logs.get(app.server) ?? logOf(app);
  logs.set(app.server, log);
  const stops: (() => void)[] = [];
  return {
    listen(limiters) {
      for (const limiter of limiters.all) {
        const { watch } = partsOf(limiter);
        if (watch !== undefined) stops.push(watch.notices.addLog(log));
      }
    },
    stop() {
      for (const stop of stops) stop();
    },
  };
}

function logOf(app: FastifyInstance): Log {
  return (code, message, error) => {
    const level = code === "HEADGATE_STORE_UP" ? "warn" : "error";
    writeNotice(app, { level, code, message, error });
  };
}
