import { commandAt } from "../command-at.ts";
import { numberIn } from "../facts/info.ts";
import type { Check } from "../finding.ts";
import { eachServer, ifKnown } from "../finding.ts";

/** It evicts what is about to expire anyway. */
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
      const mend = `${BEST} evicts first what is about to expire anyway; write it into the server's configuration as well`;
      if (policy.startsWith("allkeys-")) {
        const means =
          "when memory is full, counters, blocks and overrides are evicted: a subject that is evicted gets its whole limit again";
        return { status: "warning", found, means, mend, commands };
      }
      if (policy === BEST || policy === "noeviction") {
        if (evicted === 0) return { status: "ok", found };
        const means = "subjects that were evicted got their whole limit again";
        return { status: "note", found, means, mend: "raise maxmemory" };
      }
      const means = "when memory is full, any counter may be evicted: all of them expire";
      return { status: "note", found, means, mend, commands };
    }),
  ),
};
