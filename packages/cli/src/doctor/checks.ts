import { clock } from "./checks/clock.ts";
import { cluster } from "./checks/cluster.ts";
import { connections, idleConnections } from "./checks/connections.ts";
import { keys } from "./checks/keys.ts";
import { latency, slowCommands } from "./checks/latency.ts";
import { eviction, memory } from "./checks/memory.ts";
import { overrides } from "./checks/overrides.ts";
import { permissions } from "./checks/permissions.ts";
import { persistence } from "./checks/persistence.ts";
import { registry, usage } from "./checks/registry.ts";
import { minReplicas, replicas, role } from "./checks/replicas.ts";
import { busyScripts, scriptCache } from "./checks/scripts.ts";
import { sentinels, servers, version } from "./checks/servers.ts";
import type { Check } from "./finding.ts";

/** In the order in which they are printed, and that of docs/how-to/doctor.md. */
export const CHECKS: readonly Check[] = [
  servers,
  version,
  role,
  cluster,
  sentinels,
  latency,
  clock,
  permissions,
  scriptCache,
  busyScripts,
  slowCommands,
  eviction,
  memory,
  persistence,
  replicas,
  minReplicas,
  connections,
  idleConnections,
  registry,
  overrides,
  usage,
  keys,
];
