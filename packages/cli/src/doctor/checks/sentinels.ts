import { Unknown } from "../facts/unknown.ts";
import type { Check, PlacedFinding } from "../finding.ts";

const FEW = 3;

export const sentinels: Check = {
  name: "sentinels",
  judge({ sentinels, way }) {
    if (way !== "sentinel") return [{ status: "ok", found: "not asked for" }];
    const named = new Set(
      sentinels.flatMap(({ primary }) => (primary instanceof Unknown ? [] : [primary])),
    );
    const findings = sentinels.map(({ place, quorum, primary }): PlacedFinding => {
      if (quorum instanceof Unknown || primary instanceof Unknown) {
        const { why } = quorum instanceof Unknown ? quorum : (primary as Unknown);
        return {
          status: "warning",
          found: `no good answer: ${why}`,
          means: "without a majority of Sentinels there is no failover",
          mend: "start it, or remove it from the clients' lists",
          server: place,
        };
      }
      return { status: "ok", found: `names ${primary}; ${quorum}`, server: place };
    });
    if (named.size > 1) {
      findings.push({
        status: "problem",
        found: `Sentinels name different primaries: ${[...named].join(", ")}`,
        means: "processes may count on both, and each admits the whole limit",
        mend: "wait until a failover is over; if it stays, SENTINEL RESET on the one that is wrong",
      });
    }
    if (sentinels.length < FEW) {
      findings.push({
        status: "note",
        found: `${sentinels.length} of the Sentinels given, fewer than ${FEW}`,
        means: "clients that know so few find no primary when those are down",
        mend: "give the clients all of them",
      });
    }
    return findings;
  },
};
