import { waitUntil } from "../../support/wait-until.ts";
import type { Fault } from "./fault.ts";
import type { ServerTarget } from "./server-target.ts";
import { startServer } from "./server-target.ts";

/** A server, and the other server whose replica it becomes. */
interface ReplicaTarget extends ServerTarget {
  readonly other: ServerTarget;
}

export const turnedReplica: Fault<ReplicaTarget> = {
  name: "turned replica",
  title: "the primary made a read-only replica of an empty one (REPLICAOF), and back",
  async start() {
    const [target, other] = await Promise.all([
      startServer(),
      // By default Redis waits five seconds for more replicas before it starts the sync.
      startServer(["--repl-diskless-sync-delay", "0"]),
    ]);
    return {
      ...target,
      other,
      async close() {
        await Promise.all([target.close(), other.close()]);
      },
    };
  },
  async inject({ admin, other }) {
    await admin.replicaof("127.0.0.1", other.server.port);
    await waitUntil("the replica has taken over the primary's data", 10_000, async () =>
      (await admin.info("replication")).includes("master_link_status:up") ? true : undefined,
    );
    return async () => {
      await admin.replicaof("NO", "ONE");
    };
  },
  loses: "everything",
  degrades: "all",
  isOutage: true,
};
