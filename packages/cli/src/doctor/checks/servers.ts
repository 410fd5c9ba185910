import type { Check, PlacedFinding } from "../finding.ts";
import { count } from "../format-numbers.ts";

export const servers: Check = {
  name: "servers",
  judge({ servers, silent, way }) {
    const hows = { server: "", cluster: " of the cluster", sentinel: " that Sentinels watch" };
    const found = `${count(servers.length, "server")}${hows[way]} asked: ${servers.map(({ place }) => place).join(", ")}`;
    if (silent.length === 0) return [{ status: "ok", found }];
    return silent.map(
      ({ place, decides, why }): PlacedFinding => ({
        status: decides ? "problem" : "warning",
        found: `${decides ? "a primary that does not" : "a replica that does not"} answer: ${why}`,
        means: decides
          ? "its subjects are decided without Redis"
          : "it cannot take the place of its primary, and a failover may find none that can",
        mend: "start it; if it runs, it cannot be reached from here at that address, or it requires another password",
        server: place,
      }),
    );
  },
};
