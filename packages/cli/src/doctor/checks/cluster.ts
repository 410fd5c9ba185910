import { pluralize } from "../../output/number.ts";
import { UnknownFact } from "../facts/fact.ts";
import type { ClusterFacts, Facts, HashSlotRange, ServerFacts } from "../facts/facts.ts";
import { numberOf, partOf } from "../facts/info.ts";
import type { Check, Finding, ServerFinding } from "../finding.ts";
import { redisCliCommand } from "../redis-cli-command.ts";

const HASH_SLOTS = 16_384;

/** If more than one call in ten is sent elsewhere, and at least this many, they come from clients of one server. */
const MAX_MOVED_SHARE = 0.1;
const MIN_MOVED_CALLS = 100;

const SINGLE_SERVER_CLIENT_IMPACT =
  "a client of one server is sent elsewhere (MOVED) with most subjects, and decides these without Redis";
const SINGLE_SERVER_CLIENT_FIX =
  "give the application a cluster's client, new Cluster(...) of ioredis or createCluster(...) of node-redis";

export const cluster: Check = {
  name: "cluster",
  run(facts) {
    const findings = facts.servers.flatMap((server): ServerFinding[] => {
      const view = clusterFactsOf(server);
      return view === undefined
        ? []
        : [{ ...checkCluster(server, view, facts), server: server.address }];
    });
    if (findings.length > 0) return findings;
    const isKnown = facts.servers.every(
      ({ cluster, info }) => !(cluster instanceof UnknownFact && info instanceof UnknownFact),
    );
    if (isKnown) return [{ status: "ok", message: "not in cluster mode" }];
    const fix =
      "to have it checked, grant +cluster|info and +cluster|slots, or +info, to the user of this command";
    return [{ status: "unknown", message: "whether this is a cluster is not known", fix }];
  },
};

/** Undefined where it is not in cluster mode, or does not say. */
function clusterFactsOf({ cluster }: ServerFacts): ClusterFacts | undefined {
  return cluster === undefined || cluster instanceof UnknownFact ? undefined : cluster;
}

function checkCluster(
  server: ServerFacts,
  { info, hashSlots }: ClusterFacts,
  { topology }: Facts,
): Finding {
  const shards = new Set(hashSlots.map(({ owners }) => owners[0])).size;
  const gaps = findGaps(hashSlots);
  const failing = numberOf(info, "cluster_slots_fail") ?? 0;
  const message = `cluster_state ${info["cluster_state"]}, ${pluralize(shards, "shard")}`;
  if (gaps.length > 0) return checkGaps(server, gaps, info["cluster_state"]);
  if (failing > 0 || info["cluster_state"] !== "ok") {
    return {
      status: "problem",
      message: `${message}, ${failing} slots without a server that answers`,
      impact:
        "subjects in these slots are decided without Redis; with cluster-require-full-coverage yes, all are",
      fix: "start the servers that CLUSTER NODES calls fail, or let a replica take their place with CLUSTER FAILOVER TAKEOVER",
    };
  }
  if (topology === "server" && shards > 1) {
    return {
      status: "problem",
      message: `one of ${shards} shards, asked as if it were alone`,
      impact: SINGLE_SERVER_CLIENT_IMPACT,
      fix: `${SINGLE_SERVER_CLIENT_FIX}; and this command --cluster`,
    };
  }
  const [moved, calls] = movedCallsOf(server);
  if (moved >= MIN_MOVED_CALLS && moved > MAX_MOVED_SHARE * (moved + calls)) {
    return {
      status: "warning",
      message: `${message}; ${pluralize(moved, "call")} sent elsewhere (MOVED), beside ${pluralize(calls, "EVALSHA", "EVALSHA")}`,
      impact: SINGLE_SERVER_CLIENT_IMPACT,
      fix: `${SINGLE_SERVER_CLIENT_FIX}; CONFIG RESETSTAT begins the count anew`,
    };
  }
  const withoutReplica = hashSlots.find(({ owners }) => owners.length < 2);
  if (withoutReplica === undefined || !server.receivesDecisions) return { status: "ok", message };
  return {
    status: "note",
    message: `${message}; ${withoutReplica.owners[0]} has no replica`,
    impact: "when it is away, its subjects are decided without Redis until it is back",
    fix: "add a replica, or accept it",
  };
}

function checkGaps(server: ServerFacts, gaps: readonly Gap[], state: string | undefined): Finding {
  const total = gaps.reduce((sum, { first, last }) => sum + last - first + 1, 0);
  const ranges = gaps.flatMap(({ first, last }) => [String(first), String(last)]);
  return {
    status: "problem",
    message: `cluster_state ${state}, ${pluralize(total, "slot")} of no server`,
    impact:
      "subjects in these slots are decided without Redis; with cluster-require-full-coverage yes, all are",
    fix: "if the server that had them is not coming back, give them to this one; before Redis 7, redis-cli --cluster fix does it",
    commands: [redisCliCommand(server, "CLUSTER", "ADDSLOTSRANGE", ...ranges)],
  };
}

/** Since the start, or since the statistics were reset: calls that were sent elsewhere, and scripts that ran. */
function movedCallsOf({ info }: ServerFacts): readonly [moved: number, calls: number] {
  if (info instanceof UnknownFact) return [0, 0];
  return [partOf(info, "errorstat_MOVED", "count"), partOf(info, "cmdstat_evalsha", "calls")];
}

interface Gap {
  readonly first: number;
  readonly last: number;
}

/** The slots that no server has. */
function findGaps(slots: readonly HashSlotRange[]): readonly Gap[] {
  const sorted = [...slots].sort((a, b) => a.first - b.first);
  const gaps: Gap[] = [];
  let next = 0;
  for (const { first, last } of [...sorted, { first: HASH_SLOTS, last: HASH_SLOTS }]) {
    if (first > next) gaps.push({ first: next, last: first - 1 });
    next = last + 1;
  }
  return gaps;
}
