import { warn } from "@headgate/core/http";
import type { FastifyInstance } from "fastify";

/** Something an operator should know; `error` is why. */
export interface Notice {
  readonly level: "warn" | "error";
  readonly code: string;
  readonly message: string;
  readonly error?: Error | undefined;
}

/** Writes into the application's log, or warns through the process where the application keeps none. */
export function writeNotice({ log }: FastifyInstance, notice: Notice): void {
  const { level, code, message, error } = notice;
  // Without a logger all of Fastify's methods are one function that does nothing.
  if (log.error === log.info) {
    warn(code, message);
  } else {
    log[level]({ code, err: error }, message);
  }
}
