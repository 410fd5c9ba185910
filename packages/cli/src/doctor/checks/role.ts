import type { Check } from "../finding.ts";
import { eachServer, ifKnown } from "../finding.ts";

export const role: Check = {
  name: "role",
  ...eachServer(({ info, decides }) =>
    ifKnown(info, (fields) => {
      const isReplica = fields["role"] === "slave";
      if (!isReplica) return { status: "ok", found: "a primary" };
      const primary = `${fields["master_host"]}:${fields["master_port"]}`;
      if (!decides) return { status: "ok", found: `a replica of ${primary}` };
      return {
        status: "problem",
        found: `a replica of ${primary}`,
        means: "it refuses writes (READONLY): every decision is taken without Redis",
        mend: `connect to the primary, ${primary}, or let the client ask Sentinels`,
      };
    }),
  ),
};
