import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { processPart } from "../../client-state.ts";
import { VERSION } from "../../version.generated.ts";
import type { ProcessRecord } from "./directory.ts";

/** What a process's records have in common for all its clients, whatever copy of this package writes them. */
export const thisProcess: () => Omit<ProcessRecord, "records" | "more"> = processPart(
  "processRecord",
  () => ({
    process: randomBytes(9).toString("base64url"),
    host: hostname(),
    pid: process.pid,
    startedAt: Math.round(performance.timeOrigin),
    version: VERSION,
  }),
);
