import { commandAt } from "../command-at.ts";
import { numberIn } from "../facts/info.ts";
import type { Check } from "../finding.ts";
import { eachServer, ifKnown } from "../finding.ts";

export const minReplicas: Check = {
  name: "min-replicas",
  ...eachServer((server) =>
    ifKnown(server.info, (fields) => {
      if (fields["role"] === "slave") return { status: "ok", found: "a replica" };
      // INFO has it only where it is asked for.
      const good = numberIn(fields, "min_slaves_good_slaves");
      if (good === undefined) return { status: "ok", found: "writes need no replica" };
      return ifKnown(server.config, (config) => {
        const wanted = Number(config["min-replicas-to-write"]);
        const found = `min-replicas-to-write ${wanted}, ${good} in order`;
        if (good > wanted) return { status: "ok", found };
        if (good === wanted) {
          const means =
            "if one replica more is lost, writes are refused, and decisions are taken without Redis";
          return { status: "note", found, means, mend: "add a replica" };
        }
        return {
          status: "problem",
          found,
          means: "writes are refused (NOREPLICAS): every decision is taken without Redis",
          mend: "bring the replicas back; or take writes without them, which a failover may lose",
          commands: [commandAt(server, "CONFIG", "SET", "min-replicas-to-write", String(good))],
        };
      });
    }),
  ),
};
