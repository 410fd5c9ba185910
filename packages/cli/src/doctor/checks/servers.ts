import { counted } from "../../output/number.ts";
import { Unknown } from "../facts/fact.ts";
import { serverOf } from "../facts/info.ts";
import type { Check, PlacedFinding } from "../finding.ts";
import { eachServer, ifKnown } from "../finding.ts";

export const servers: Check = {
  name: "servers",
  examine({ servers, silent, way }) {
    const hows = { server: "", cluster: " of the cluster", sentinel: " that Sentinels watch" };
    const found = `${counted(servers.length, "server")}${hows[way]} asked: ${servers.map(({ place }) => place).join(", ")}`;
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

/** The versions for which the scripts are written: the first, and the last major one. */
const SUPPORTED: Readonly<Record<string, readonly [first: string, last: number]>> = {
  redis: ["6.2", 8],
  valkey: ["7.2", 9],
};

export const version: Check = {
  name: "version",
  ...eachServer(({ info }) =>
    ifKnown(info, (fields) => {
      const { name, version } = serverOf(fields);
      const found = `${name} ${version}`;
      const supported = SUPPORTED[name];
      if (supported === undefined) {
        const means = "Headgate is tested on Redis and Valkey, not on this server";
        return { status: "note", found, means };
      }
      const [first, last] = supported;
      if (isBefore(version, first)) {
        return {
          status: "problem",
          found: `${found} is older than ${name} ${first}`,
          means:
            "the scripts are not written for it: calls may fail, and limits are decided without Redis then",
          mend: `upgrade the server to ${name} ${first} to ${last}`,
        };
      }
      if (Number.parseInt(version, 10) > last) {
        const means = `Headgate is tested up to ${name} ${last}`;
        return { status: "note", found, means };
      }
      return { status: "ok", found };
    }),
  ),
};

/** Whether a version comes before another: 6.0.16 before 6.2. */
function isBefore(version: string, first: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [firstMajor = 0, firstMinor = 0] = first.split(".").map(Number);
  return major < firstMajor || (major === firstMajor && minor < firstMinor);
}

const FEW = 3;

export const sentinels: Check = {
  name: "sentinels",
  examine({ sentinels, way }) {
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
