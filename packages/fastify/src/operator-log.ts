import { warn } from "@headgate/core/http";
import type { FastifyInstance } from "fastify";

/** Logs something for the operator; `error` is the reason. */
export interface Notice {
  readonly level: "warn" | "error";
  readonly code: string;
  readonly message: string;
  readonly error?: Error | undefined;
}

/** Writes to the application's log, or as a process warning if the application has no logger. */
export function writeNotice({ log }: FastifyInstance, notice: Notice): void {
  const { level, code, message, error } = notice;
  // Without a logger all of Fastify's methods are one function that does nothing.
  if (log.error === log.info) {
    warn(code, message);
  } else {
    log[level]({ code, err: error }, message);
  }
}
