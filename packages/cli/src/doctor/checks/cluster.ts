import { counted } from "../../output/number.ts";
import { commandAt } from "../command-at.ts";
import { Unknown } from "../facts/fact.ts";
import type { ClusterView, Facts, ServerFacts, SlotRange } from "../facts/facts.ts";
import { numberIn, partIn } from "../facts/info.ts";
import type { Check, Finding, PlacedFinding } from "../finding.ts";

const SLOTS = 16_384;

/** If more than one call in ten is sent elsewhere, and at least this many, they come from clients of one server. */
const SHARE = 0.1;
const CALLS = 100;

const PLAIN_MEANS =
  "a client of one server is sent elsewhere (MOVED) with most subjects, and decides these without Redis";
const PLAIN_MEND =
  "give the application a cluster's client, new Cluster(...) of ioredis or createCluster(...) of node-redis";

export const cluster: Check = {
  name: "cluster",
  examine(facts) {
    const findings = facts.servers.flatMap((server): PlacedFinding[] => {
      const view = viewOf(server);
      return view === undefined ? [] : [{ ...judge(server, view, facts), server: server.place }];
    });
    if (findings.length > 0) return findings;
    const isKnown = facts.servers.every(
      ({ cluster, info }) => !(cluster instanceof Unknown && info instanceof Unknown),
    );
    if (isKnown) return [{ status: "ok", found: "not in cluster mode" }];
    const mend =
      "to have it checked, grant +cluster|info and +cluster|slots, or +info, to the user of this command";
    return [{ status: "unknown", found: "whether this is a cluster is not known", mend }];
  },
};

/** Undefined where it is not in cluster mode, or does not say. */
function viewOf({ cluster }: ServerFacts): ClusterView | undefined {
  return cluster === undefined || cluster instanceof Unknown ? undefined : cluster;
}

function judge(server: ServerFacts, { info, slots }: ClusterView, { way }: Facts): Finding {
  const shards = new Set(slots.map(({ places }) => places[0])).size;
  const gaps = gapsIn(slots);
  const failing = numberIn(info, "cluster_slots_fail") ?? 0;
  const found = `cluster_state ${info["cluster_state"]}, ${counted(shards, "shard")}`;
  if (gaps.length > 0) return judgeGaps(server, gaps, info["cluster_state"]);
  if (failing > 0 || info["cluster_state"] !== "ok") {
    return {
      status: "problem",
      found: `${found}, ${failing} slots without a server that answers`,
      means:
        "subjects in these slots are decided without Redis; with cluster-require-full-coverage yes, all are",
      mend: "start the servers that CLUSTER NODES calls fail, or let a replica take their place with CLUSTER FAILOVER TAKEOVER",
    };
  }
  if (way === "server" && shards > 1) {
    return {
      status: "problem",
      found: `one of ${shards} shards, asked as if it were alone`,
      means: PLAIN_MEANS,
      mend: `${PLAIN_MEND}; and this command --cluster`,
    };
  }
  const [moved, calls] = movedOf(server);
  if (moved >= CALLS && moved > SHARE * (moved + calls)) {
    return {
      status: "warning",
      found: `${found}; ${counted(moved, "call")} sent elsewhere (MOVED), beside ${counted(calls, "EVALSHA", "EVALSHA")}`,
      means: PLAIN_MEANS,
      mend: `${PLAIN_MEND}; CONFIG RESETSTAT begins the count anew`,
    };
  }
  const alone = slots.find(({ places }) => places.length < 2);
  if (alone === undefined || !server.decides) return { status: "ok", found };
  return {
    status: "note",
    found: `${found}; ${alone.places[0]} has no replica`,
    means: "when it is away, its subjects are decided without Redis until it is back",
    mend: "add a replica, or accept it",
  };
}

function judgeGaps(server: ServerFacts, gaps: readonly Gap[], state: string | undefined): Finding {
  const total = gaps.reduce((sum, { first, last }) => sum + last - first + 1, 0);
  const ranges = gaps.flatMap(({ first, last }) => [String(first), String(last)]);
  return {
    status: "problem",
    found: `cluster_state ${state}, ${counted(total, "slot")} of no server`,
    means:
      "subjects in these slots are decided without Redis; with cluster-require-full-coverage yes, all are",
    mend: "if the server that had them is not coming back, give them to this one; before Redis 7, redis-cli --cluster fix does it",
    commands: [commandAt(server, "CLUSTER", "ADDSLOTSRANGE", ...ranges)],
  };
}

/** Since the start, or since the statistics were reset: calls that were sent elsewhere, and scripts that ran. */
function movedOf({ info }: ServerFacts): readonly [moved: number, calls: number] {
  if (info instanceof Unknown) return [0, 0];
  return [partIn(info, "errorstat_MOVED", "count"), partIn(info, "cmdstat_evalsha", "calls")];
}

interface Gap {
  readonly first: number;
  readonly last: number;
}

/** The slots that no server has. */
function gapsIn(slots: readonly SlotRange[]): readonly Gap[] {
  const inOrder = [...slots].sort((a, b) => a.first - b.first);
  const gaps: Gap[] = [];
  let next = 0;
  for (const { first, last } of [...inOrder, { first: SLOTS, last: SLOTS }]) {
    if (first > next) gaps.push({ first: next, last: first - 1 });
    next = last + 1;
  }
  return gaps;
}
