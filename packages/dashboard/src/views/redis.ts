import { withTimeout } from "@headgate/core/internal";
import type { Visitor } from "../access/visitor.ts";
import type { RedisView } from "../api.ts";
import type { DoctorReport } from "../options.ts";
import type { Reading } from "../reading.ts";
import { findingsWithin } from "./findings.ts";

/** The shortest interval between two runs of the doctor. */
const DOCTOR_EVERY_MS = 30_000;

/** How long one may take, in milliseconds. */
const DOCTOR_WITHIN_MS = 20_000;

/**
 * The state of the server, and the findings of the application's doctor. Findings name limiters, and the server's load comes
 * from all of them, so a visitor who may not see all limiters gets neither.
 */
export async function viewRedis(
  reading: Reading,
  { isLimited }: Visitor,
  doctor: (() => Promise<DoctorReport>) | undefined,
): Promise<RedisView> {
  const nothing = (): RedisView["server"] => ({});
  const known = reading.shared("server", () => readServer(reading.client));
  const [control, at, server, findings] = await Promise.all([
    reading.control(),
    reading.now(),
    withTimeout(reading.timeoutMs, known.catch(nothing), nothing),
    doctor === undefined || isLimited
      ? []
      : reading.shared("doctor", () => findingsWithin(DOCTOR_WITHIN_MS, doctor), DOCTOR_EVERY_MS),
  ]);
  const shown = isLimited ? withoutLoad(server) : server;
  return { at, findings, server: shown, latencyMs: control.latencyMs };
}

/** The fields of INFO that are shown, by their names in the page. */
const FIELDS: Readonly<Record<string, string>> = {
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

const WITHOUT_LOAD: readonly string[] = [
  "version",
  "mode",
  "role",
  "uptimeSeconds",
  "evictionPolicy",
];

function withoutLoad(server: RedisView["server"]): RedisView["server"] {
  return Object.fromEntries(Object.entries(server).filter(([name]) => WITHOUT_LOAD.includes(name)));
}

/** The part of a client that describes its server. */
interface Describes {
  info?(): Promise<unknown>;
}

/** The server's description of itself. Rejects if the client may not ask; empty if there are several servers. */
async function readServer(client: Describes): Promise<RedisView["server"]> {
  const info = await client.info?.();
  const server: Record<string, string | number> = {};
  if (typeof info !== "string") return server;
  for (const [, name = "", value = ""] of info.matchAll(/^([a-z_]+):(.*?)\r?$/gm)) {
    const known = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
    if (known === undefined) continue;
    server[known] = /^\d{1,15}$/.test(value) ? Number(value) : value;
  }
  return server;
}
