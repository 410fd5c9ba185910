import type { ControlRecord, UnreadableRecord } from "@headgate/core/operate";
import { createAdmin, readRegistry, readUsage } from "@headgate/core/operate";
import type { Connection } from "../../connect/connection.ts";
import { factOf, wordsOf } from "./fact.ts";
import type { Facts, ServerFacts } from "./facts.ts";
import type { Wanted } from "./gather-server.ts";
import { gatherServer, timeCalls } from "./gather-server.ts";
import { openServers } from "./open-servers.ts";
import { readSentinels } from "./read-sentinels.ts";

/** What is wanted of a deployment. */
export interface WantedFacts extends Omit<Wanted, "prefix"> {
  /** Milliseconds. */
  readonly storeTimeout: number;
}

/** Gathers everything that is judged. It changes nothing, and never rejects: a refused question gives `Unknown`. */
export async function gatherFacts(connection: Connection, wanted: WantedFacts): Promise<Facts> {
  const { store, prefix, timeoutMs } = connection;
  const { way, askers, silent, close } = await openServers(connection);
  try {
    const latencies: ServerFacts["latencies"][] = [];
    for (const server of askers) {
      latencies.push(await factOf("TIME", () => timeCalls(server)));
    }
    const [servers, sentinels, directory, unreadUsage, control] = await Promise.all([
      Promise.all(
        askers.map((server, i) => gatherServer(server, latencies[i] ?? [], { ...wanted, prefix })),
      ),
      readSentinels(connection),
      factOf("EVALSHA", () => readRegistry(store, { timeout: timeoutMs }).catch(rethrowCause)),
      factOf("EVALSHA", () => readUnreadUsage(connection)),
      factOf("EVALSHA", () => readControl(connection)),
    ]);
    const { storeTimeout } = wanted;
    return {
      prefix,
      way,
      storeTimeout,
      servers,
      silent,
      sentinels,
      directory,
      unreadUsage,
      control,
    };
  } finally {
    close();
  }
}

/** Of the last ten minutes: what is written now. */
async function readUnreadUsage({
  store,
  timeoutMs,
}: Connection): Promise<readonly UnreadableRecord[]> {
  const usage = await readUsage(store, { timeout: timeoutMs, span: "10s" }).catch(rethrowCause);
  return usage.unread;
}

async function readControl({ store, timeoutMs }: Connection): Promise<ControlRecord | "damaged"> {
  return createAdmin(store, { storeTimeout: timeoutMs })
    .readControl()
    .catch((error: unknown) => {
      if ((error as { code?: unknown }).code === "HEADGATE_CONTROL_DAMAGED") return "damaged";
      return rethrowCause(error);
    });
}

/** The server's own words are in the cause. */
function rethrowCause(error: unknown): never {
  throw new Error(wordsOf((error as Error).cause ?? error));
}
