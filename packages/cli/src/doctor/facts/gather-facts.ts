import type { ControlRecord, UnreadableRecord } from "@headgate/core/admin";
import { createAdmin, readRegistry, readUsage } from "@headgate/core/admin";
import type { Connection } from "../../connect/connection.ts";
import type { Facts, ServerFacts } from "./facts.ts";
import { readFact, redactedMessage } from "./facts.ts";
import type { ServerOptions } from "./gather-server.ts";
import { gatherServer, timeCalls } from "./gather-server.ts";
import { openServers, readSentinels } from "./open-servers.ts";

export interface GatherOptions extends Omit<ServerOptions, "prefix"> {
  readonly storeTimeoutMs: number;
}

/** Gathers the facts for all checks. It changes nothing and never rejects: a refused command gives an `UnknownFact`. */
export async function gatherFacts(connection: Connection, options: GatherOptions): Promise<Facts> {
  const { store, prefix, timeoutMs } = connection;
  const { topology, connections, unreachable, close } = await openServers(connection);
  try {
    const latencies: ServerFacts["latenciesMs"][] = [];
    for (const server of connections) {
      latencies.push(await readFact("TIME", () => timeCalls(server)));
    }
    const [servers, sentinels, registry, unreadUsage, control] = await Promise.all([
      Promise.all(
        connections.map((server, i) =>
          gatherServer(server, latencies[i] ?? [], { ...options, prefix }),
        ),
      ),
      readSentinels(connection),
      readFact("EVALSHA", () => readRegistry(store, { timeout: timeoutMs }).catch(rethrowCause)),
      readFact("EVALSHA", () => readUnreadUsage(connection)),
      readFact("EVALSHA", () => readControl(connection)),
    ]);
    const { storeTimeoutMs } = options;
    return {
      prefix,
      topology,
      storeTimeoutMs,
      servers,
      unreachable,
      sentinels,
      registry,
      unreadUsage,
      control,
    };
  } finally {
    close();
  }
}

/** Reads only the latest usage, because older records expire unread. */
async function readUnreadUsage({
  store,
  timeoutMs,
}: Connection): Promise<readonly UnreadableRecord[]> {
  const usage = await readUsage(store, { timeout: timeoutMs, span: "10s" }).catch(rethrowCause);
  return usage.unreadable;
}

async function readControl({ store, timeoutMs }: Connection): Promise<ControlRecord | "damaged"> {
  return createAdmin(store, { storeTimeout: timeoutMs })
    .readControl()
    .catch((error: unknown) => {
      if ((error as { code?: unknown }).code === "HEADGATE_CONTROL_CORRUPT") return "damaged";
      return rethrowCause(error);
    });
}

/** Rejects with the cause, which has the server's own message. */
function rethrowCause(error: unknown): never {
  throw new Error(redactedMessage((error as Error).cause ?? error));
}
