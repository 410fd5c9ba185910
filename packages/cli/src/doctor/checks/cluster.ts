import { pluralize } from "@headgate/replay/internal";
import type { ClusterFacts, Facts, HashSlotRange, ServerFacts } from "../facts/facts.ts";
import { numberOf, partOf, UnknownFact } from "../facts/facts.ts";
import type { Check, Finding, ServerFinding } from "../finding.ts";
import { redisCliCommand } from "../finding.ts";

const HASH_SLOTS = 16_384;

/** If at least this many calls, and more than one in ten, are redirected, the application uses a client for a single server. */
const MAX_MOVED_SHARE = 0.1;
const MIN_MOVED_CALLS = 100;

const SINGLE_SERVER_CLIENT_IMPACT =
  "a client for a single server is redirected (MOVED) for most subjects, and these are decided without Redis";
const SINGLE_SERVER_CLIENT_FIX =
  "use a cluster client in the application: new Cluster(...) of ioredis, or createCluster(...) of node-redis";

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
    return [{ status: "unknown", message: "it is unknown whether this is a cluster", fix }];
  },
};

/** Undefined if the server is not in cluster mode, or refuses to tell. */
function clusterFactsOf({ cluster }: ServerFacts): ClusterFacts | undefined {
  return cluster === undefined || cluster instanceof UnknownFact ? undefined : cluster;
}

function checkCluster(
  server: ServerFacts,
  { info, hashSlots, allowsUndeclaredKeys }: ClusterFacts,
  { topology }: Facts,
): Finding {
  const shards = new Set(hashSlots.map(({ owners }) => owners[0])).size;
  const gaps = findGaps(hashSlots);
  const failing = numberOf(info, "cluster_slots_fail") ?? 0;
  const sharing = allowsUndeclaredKeys === true ? ", calls of a server share scripts" : "";
  const message = `cluster_state ${info["cluster_state"]}, ${pluralize(shards, "shard")}${sharing}`;
  if (gaps.length > 0) return checkGaps(server, gaps, info["cluster_state"]);
  if (failing > 0 || info["cluster_state"] !== "ok") {
    return {
      status: "problem",
      message: `${message}, ${failing} hash slots without a reachable server`,
      impact:
        "subjects in these hash slots are decided without Redis; with cluster-require-full-coverage yes, all subjects are",
      fix: "start the servers that CLUSTER NODES marks as fail, or promote a replica with CLUSTER FAILOVER TAKEOVER",
    };
  }
  if (topology === "server" && shards > 1) {
    return {
      status: "problem",
      message: `one of ${shards} shards, connected to without --cluster`,
      impact: SINGLE_SERVER_CLIENT_IMPACT,
      fix: `${SINGLE_SERVER_CLIENT_FIX}; run this command with --cluster`,
    };
  }
  const [moved, calls] = movedCallsOf(server);
  if (moved >= MIN_MOVED_CALLS && moved > MAX_MOVED_SHARE * (moved + calls)) {
    return {
      status: "warning",
      message: `${message}; ${pluralize(moved, "call")} redirected (MOVED), and ${pluralize(calls, "EVALSHA", "EVALSHA")}`,
      impact: SINGLE_SERVER_CLIENT_IMPACT,
      fix: `${SINGLE_SERVER_CLIENT_FIX}; CONFIG RESETSTAT resets the count`,
    };
  }
  if (allowsUndeclaredKeys === false) {
    return {
      status: "note",
      message: `${message}; scripts may not use keys of several hash slots`,
      impact:
        "each call is a script of its own, so a decision takes about twice the processor time",
      fix: "accept it, or let clients reach Redis or Valkey without the proxy or service that refuses such scripts",
    };
  }
  const withoutReplica = hashSlots.find(({ owners }) => owners.length < 2);
  if (withoutReplica === undefined || !server.receivesDecisions) return { status: "ok", message };
  return {
    status: "note",
    message: `${message}; ${withoutReplica.owners[0]} has no replica`,
    impact: "while it is down, its subjects are decided without Redis",
    fix: "add a replica, or accept it",
  };
}

function checkGaps(server: ServerFacts, gaps: readonly Gap[], state: string | undefined): Finding {
  const total = gaps.reduce((sum, { first, last }) => sum + last - first + 1, 0);
  const ranges = gaps.flatMap(({ first, last }) => [String(first), String(last)]);
  return {
    status: "problem",
    message: `cluster_state ${state}, ${pluralize(total, "hash slot")} without a server`,
    impact:
      "subjects in these hash slots are decided without Redis; with cluster-require-full-coverage yes, all subjects are",
    fix: "if the server that owned them is not coming back, assign them to this one; before Redis 7, use redis-cli --cluster fix",
    commands: [redisCliCommand(server, "CLUSTER", "ADDSLOTSRANGE", ...ranges)],
  };
}

/** Redirected calls and executed scripts since the statistics were reset, or since the server started. */
function movedCallsOf({ info }: ServerFacts): readonly [moved: number, calls: number] {
  if (info instanceof UnknownFact) return [0, 0];
  return [partOf(info, "errorstat_MOVED", "count"), partOf(info, "cmdstat_evalsha", "calls")];
}

interface Gap {
  readonly first: number;
  readonly last: number;
}

/** The ranges of hash slots without a server. */
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
