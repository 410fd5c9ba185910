import type { GuardLimiters, Tell } from "@headgate/core/http";
import { partsOf } from "@headgate/core/http";
import type { FastifyInstance } from "fastify";
import { writeNotice } from "./operator-log.ts";

/** Tells the operator what becomes of the stores of some limiters. */
export interface Teller {
  listen(limiters: GuardLimiters): void;
  stop(): void;
}

/** One for each server: several plugins may run on it, and what happens is told once. */
const tells = new WeakMap<object, Tell>();

/** Tells through the application's log: `error` for what needs an eye on it, `warn` for the rest. */
export function tellThroughLog(app: FastifyInstance): Teller {
  const tell = tells.get(app.server) ?? tellOf(app);
  tells.set(app.server, tell);
  const stops: (() => void)[] = [];
  return {
    listen(limiters) {
      for (const limiter of limiters.all) {
        const { watch } = partsOf(limiter);
        if (watch !== undefined) stops.push(watch.notices.addTeller(tell));
      }
    },
    stop() {
      for (const stop of stops) stop();
    },
  };
}

function tellOf(app: FastifyInstance): Tell {
  return (code, message, error) => {
    const level = code === "HEADGATE_STORE_UP" ? "warn" : "error";
    writeNotice(app, { level, code, message, error });
  };
}
