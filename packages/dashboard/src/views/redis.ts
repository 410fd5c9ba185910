import { withTimeout } from "@headgate/core/internal";
import type { Visitor } from "../access/visitor.ts";
import type { RedisView } from "../api.ts";
import type { FleetReader } from "../fleet-reader.ts";
import type { DoctorReport } from "../options.ts";
import { findingsWithTimeout } from "./findings.ts";

/** The shortest interval between two runs of the doctor. */
const DOCTOR_INTERVAL_MS = 30_000;

/** The timeout of a run of the doctor, in milliseconds. */
const DOCTOR_TIMEOUT_MS = 20_000;

/**
 * The state of the server, and the findings of the application's doctor. Findings name limiters, and the server's load comes
 * from all of them, so a visitor who may not see all limiters gets neither.
 */
export async function buildRedisView(
  reader: FleetReader,
  { isRestricted }: Visitor,
  doctor: (() => Promise<DoctorReport>) | undefined,
): Promise<RedisView> {
  const nothing = (): RedisView["server"] => ({});
  const known = reader.cacheRead("server", () => readServer(reader.client));
  const [control, at, server, findings] = await Promise.all([
    reader.loadControl(),
    reader.serverTime(),
    withTimeout(reader.timeoutMs, known.catch(nothing), nothing),
    doctor === undefined || isRestricted
      ? []
      : reader.cacheRead(
          "doctor",
          () => findingsWithTimeout(DOCTOR_TIMEOUT_MS, doctor),
          DOCTOR_INTERVAL_MS,
        ),
  ]);
  const shown = isRestricted ? withoutLoad(server) : server;
  return { at, findings, server: shown, latencyMs: control.latencyMs };
}

/** The fields of INFO that are shown, by their names in the page. */
const INFO_FIELDS: Readonly<Record<string, string>> = {
  redis_version: "version",
  valkey_version: "version",
  redis_mode: "mode",
  server_mode: "mode",
  role: "role",
  uptime_in_seconds: "uptimeSeconds",
  connected_clients: "clients",
  used_memory: "memoryBytes",
  maxmemory: "maxMemoryBytes",
  maxmemory_policy: "evictionPolicy",
  evicted_keys: "evictedKeys",
  instantaneous_ops_per_sec: "commandsPerSecond",
};

const FIELDS_WITHOUT_LOAD: readonly string[] = [
  "version",
  "mode",
  "role",
  "uptimeSeconds",
  "evictionPolicy",
];

function withoutLoad(server: RedisView["server"]): RedisView["server"] {
  return Object.fromEntries(
    Object.entries(server).filter(([name]) => FIELDS_WITHOUT_LOAD.includes(name)),
  );
}

/** The part of a Redis client that reads INFO. */
interface InfoClient {
  info?(): Promise<unknown>;
}

/** The fields of INFO. Rejects if the Redis user may not run INFO; empty for a cluster. */
async function readServer(client: InfoClient): Promise<RedisView["server"]> {
  const info = await client.info?.();
  const server: Record<string, string | number> = {};
  if (typeof info !== "string") return server;
  for (const [, name = "", value = ""] of info.matchAll(/^([a-z_]+):(.*?)\r?$/gm)) {
    const known = Object.hasOwn(INFO_FIELDS, name) ? INFO_FIELDS[name] : undefined;
    if (known === undefined) continue;
    server[known] = /^\d{1,15}$/.test(value) ? Number(value) : value;
  }
  return server;
}
