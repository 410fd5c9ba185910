import { commandAt } from "../command-at.ts";
import { numberIn } from "../facts/info.ts";
import type { Check } from "../finding.ts";
import { eachServer, ifKnown } from "../finding.ts";

/** It gives up what is about to expire, so what is nearly forgotten anyway. */
const BEST = "volatile-ttl";

export const eviction: Check = {
  name: "eviction",
  ...eachServer((server) =>
    ifKnown(server.info, (fields) => {
      const policy = fields["maxmemory_policy"] ?? "unknown to INFO";
      const evicted = numberIn(fields, "evicted_keys") ?? 0;
      const hasLimit = (numberIn(fields, "maxmemory") ?? 0) > 0;
      const found = `maxmemory-policy ${policy}, ${hasLimit ? "" : "no maxmemory, "}${evicted} keys evicted since the start`;
      const commands = [commandAt(server, "CONFIG", "SET", "maxmemory-policy", BEST)];
      const mend = `${BEST} gives up first what is nearly forgotten anyway; write it into the server's configuration as well`;
      if (policy.startsWith("allkeys-")) {
        const means =
          "where memory is full, counters, blocks and overrides are given up: who is forgotten begins anew";
        return { status: "warning", found, means, mend, commands };
      }
      if (policy === BEST || policy === "noeviction") {
        if (evicted === 0) return { status: "ok", found };
        const means = "who was evicted began anew";
        return { status: "note", found, means, mend: "raise maxmemory" };
      }
      const means = "where memory is full, any counter may be given up: all of them expire";
      return { status: "note", found, means, mend, commands };
    }),
  ),
};
