import type { Check, PlacedFinding } from "../finding.ts";
import { count } from "../format-numbers.ts";

export const servers: Check = {
  name: "servers",
  judge({ servers, silent, way }) {
    const hows = { server: "", cluster: " of the cluster", sentinel: " that Sentinels watch" };
    const found = `${count(servers.length, "server")}${hows[way]} asked: ${servers.map(({ place }) => place).join(", ")}`;
    if (silent.length === 0) return [{ status: "ok", found }];
    return silent.map(
      ({ place, why }): PlacedFinding => ({
        status: "warning",
        found: `no answer: ${why}`,
        means:
          "if it is down, a failover to it, or from it, does not work; the subjects of a primary that is down are decided without Redis",
        mend: "start it; if it runs, it cannot be reached from here under that address, or takes another password",
        server: place,
      }),
    );
  },
};
