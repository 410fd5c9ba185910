import { busyScripts } from "./checks/busy-scripts.ts";
import { clock } from "./checks/clock.ts";
import { cluster } from "./checks/cluster.ts";
import { connections } from "./checks/connections.ts";
import { directory } from "./checks/directory.ts";
import { eviction } from "./checks/eviction.ts";
import { idleConnections } from "./checks/idle-connections.ts";
import { keys } from "./checks/keys.ts";
import { latency } from "./checks/latency.ts";
import { memory } from "./checks/memory.ts";
import { minReplicas } from "./checks/min-replicas.ts";
import { overrides } from "./checks/overrides.ts";
import { permissions } from "./checks/permissions.ts";
import { persistence } from "./checks/persistence.ts";
import { replicas } from "./checks/replicas.ts";
import { role } from "./checks/role.ts";
import { scriptCache } from "./checks/script-cache.ts";
import { sentinels } from "./checks/sentinels.ts";
import { servers } from "./checks/servers.ts";
import { slowCommands } from "./checks/slow-commands.ts";
import { usage } from "./checks/usage.ts";
import { version } from "./checks/version.ts";
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
  directory,
  overrides,
  usage,
  keys,
];
