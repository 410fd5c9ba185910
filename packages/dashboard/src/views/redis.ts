import { withTimeout } from "@headgate/core/internal";
import type { Visitor } from "../access/visitor.ts";
import type { Finding, RedisView } from "../api.ts";
import type { FleetReader } from "../fleet-reader.ts";
import type { DoctorReport } from "../options.ts";

const DOCTOR_INTERVAL_MS = 30_000;

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
    doctor === undefined || isRestricted ? [] : loadFindings(reader, doctor),
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

/**
 * The findings of a doctor, which is called at most every 30 seconds, also if it fails. None while it works for longer than a call to
 * Redis may take: the page shows the rest, and asks again.
 */
function loadFindings(
  { cacheRead, timeoutMs }: FleetReader,
  doctor: () => Promise<DoctorReport>,
): Promise<readonly Finding[]> {
  const known = cacheRead(
    "doctor",
    () => findingsWithTimeout(DOCTOR_TIMEOUT_MS, doctor),
    DOCTOR_INTERVAL_MS,
    DOCTOR_INTERVAL_MS,
  );
  return withTimeout(timeoutMs, known, () => []);
}

const LEVELS: readonly Finding["level"][] = ["problem", "warning", "note", "unknown", "ok"];

/** The findings of the application's doctor, or a warning if it takes longer than the timeout. */
export function findingsWithTimeout(
  timeoutMs: number,
  doctor: () => Promise<DoctorReport>,
): Promise<readonly Finding[]> {
  const late: Finding = {
    level: "warning",
    title: `The doctor has not finished within ${timeoutMs / 1_000} seconds`,
  };
  return withTimeout(timeoutMs, findingsOf(doctor), () => [late]);
}

async function findingsOf(doctor: () => Promise<DoctorReport>): Promise<readonly Finding[]> {
  const { checks } = await doctor();
  return checks.flatMap(({ findings, docs }) =>
    findings.map(
      ({ status, message, impact, fix, commands = [] }): Finding => ({
        level: LEVELS.find((level) => level === status) ?? "note",
        title: message,
        impact,
        fix: fix === undefined && commands.length === 0 ? undefined : formatFix(fix, commands),
        docs,
      }),
    ),
  );
}

function formatFix(fix: string | undefined, commands: readonly string[]): string {
  return [...(fix === undefined ? [] : [fix]), ...commands].join("\n");
}
