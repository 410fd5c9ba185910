import { formatMeasured, pluralize } from "@headgate/replay/internal";
import type { ClockReading, Facts } from "../facts/facts.ts";
import { serverVersionOf, UnknownFact } from "../facts/facts.ts";
import type { Check, Finding, ServerFinding } from "../finding.ts";
import { eachServer } from "../finding.ts";

export const servers: Check = {
  name: "servers",
  run({ servers, unreachable, topology }) {
    const origins = { server: "", cluster: " of the cluster", sentinel: " found by Sentinels" };
    const message = `${pluralize(servers.length, "server")}${origins[topology]}: ${servers.map(({ address }) => address).join(", ")}`;
    if (unreachable.length === 0) return [{ status: "ok", message }];
    return unreachable.map(
      ({ address, receivesDecisions, reason }): ServerFinding => ({
        status: receivesDecisions ? "problem" : "warning",
        message: `${receivesDecisions ? "a primary" : "a replica"} does not answer: ${reason}`,
        impact: receivesDecisions
          ? "its subjects are decided without Redis"
          : "it cannot replace its primary, so a failover may fail",
        fix: "start it; if it is running, its address cannot be reached from here, or it requires another password",
        server: address,
      }),
    );
  },
};

/** The first supported version, and the last supported major version. */
const SUPPORTED: Readonly<Record<string, readonly [first: string, last: number]>> = {
  redis: ["6.2", 8],
  valkey: ["7.2", 9],
};

export const version: Check = eachServer("version", "info", (fields) => {
  const { name, version } = serverVersionOf(fields);
  const message = `${name} ${version}`;
  const supported = SUPPORTED[name];
  if (supported === undefined) {
    const impact = "Headgate is tested on Redis and Valkey, not on this server";
    return { status: "note", message, impact };
  }
  const [first, last] = supported;
  if (isOlder(version, first)) {
    return {
      status: "problem",
      message: `${message} is older than ${name} ${first}`,
      impact:
        "the scripts do not support it: calls may fail, and requests are decided without Redis then",
      fix: `upgrade the server to ${name} ${first} to ${last}`,
    };
  }
  if (Number.parseInt(version, 10) > last) {
    const impact = `Headgate is tested up to ${name} ${last}`;
    return { status: "note", message, impact };
  }
  return { status: "ok", message };
});

/** Whether a version is older than another: 6.0.16 is older than 6.2. */
function isOlder(version: string, first: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [firstMajor = 0, firstMinor = 0] = first.split(".").map(Number);
  return major < firstMajor || (major === firstMajor && minor < firstMinor);
}

const MIN_SENTINELS = 3;

export const sentinels: Check = {
  name: "sentinels",
  run({ sentinels, topology }) {
    if (topology !== "sentinel") return [{ status: "ok", message: "not in use" }];
    const named = new Set(
      sentinels.flatMap(({ primary }) => (primary instanceof UnknownFact ? [] : [primary])),
    );
    const findings = sentinels.map(({ address, quorum, primary }): ServerFinding => {
      if (quorum instanceof UnknownFact || primary instanceof UnknownFact) {
        const { error } = quorum instanceof UnknownFact ? quorum : (primary as UnknownFact);
        return {
          status: "warning",
          message: `no valid answer: ${error}`,
          impact: "without a majority of Sentinels there is no failover",
          fix: "start it, or remove it from the clients' configuration",
          server: address,
        };
      }
      return { status: "ok", message: `names ${primary}; ${quorum}`, server: address };
    });
    if (named.size > 1) {
      findings.push({
        status: "problem",
        message: `Sentinels name different primaries: ${[...named].join(", ")}`,
        impact: "processes may count on both, and each of them admits the whole limit",
        fix: "wait until the failover is over; if they still differ, run SENTINEL RESET on the wrong one",
      });
    }
    if (sentinels.length < MIN_SENTINELS) {
      findings.push({
        status: "note",
        message: `${pluralize(sentinels.length, "Sentinel")} configured, fewer than ${MIN_SENTINELS}`,
        impact: "clients that know so few Sentinels find no primary if these are down",
        fix: "configure all Sentinels in the clients",
      });
    }
    return findings;
  },
};

/** Clocks may differ by this much, beyond the error of a reading. */
const MAX_DIFFERENCE_MS = 1_000;

const readings = eachServer("clock", "clock", checkReading);

export const clock: Check = {
  name: "clock",
  run: (facts) => [...readings.run(facts), ...checkDifference(facts)],
};

function checkReading({ aheadMs, errorMs }: ClockReading): Finding {
  const message = `${Math.abs(aheadMs) < 0.5 ? "the same as" : `${formatMeasured(Math.abs(aheadMs))} ${aheadMs > 0 ? "ahead of" : "behind"}`} this machine's, give or take ${formatMeasured(errorMs)}`;
  if (Math.abs(aheadMs) - errorMs <= MAX_DIFFERENCE_MS) return { status: "ok", message };
  return {
    status: "warning",
    message,
    impact:
      "limiters use the server's clock: fixed and calendar windows end at its time, and correcting it makes it jump, which may admit the whole limit once more",
    fix: "find out which clock is wrong, for example with chronyc tracking, and let a time server correct both slowly",
  };
}

/** A finding if the clocks of two servers differ too much. */
function checkDifference({ servers }: Facts): readonly ServerFinding[] {
  const inOrder = servers
    .flatMap(({ clock, address }) => (clock instanceof UnknownFact ? [] : [{ ...clock, address }]))
    .sort((a, b) => a.aheadMs - b.aheadMs);
  const [first, last] = [inOrder[0], inOrder.at(-1)];
  if (first === undefined || last === undefined) return [];
  const apart = last.aheadMs - first.aheadMs;
  if (apart - first.errorMs - last.errorMs <= MAX_DIFFERENCE_MS) return [];
  return [
    {
      status: "warning",
      message: `${last.address} is ${formatMeasured(apart)} ahead of ${first.address}`,
      impact:
        "a failover from one to the other makes the clock jump by this much; a jump may admit the whole limit once more",
      fix: "synchronize both machines with the same time server",
    },
  ];
}
