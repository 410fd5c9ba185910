import { expect, test } from "vitest";
import { cut } from "../faults/cut.ts";
import { delayed } from "../faults/delayed.ts";
import type { Fault } from "../faults/fault.ts";
import { frozen } from "../faults/frozen.ts";
import { killed } from "../faults/killed.ts";
import { lateAtBoot } from "../faults/late-at-boot.ts";
import { outOfMemory } from "../faults/out-of-memory.ts";
import { restartedEmpty } from "../faults/restarted-empty.ts";
import { scriptFlush } from "../faults/script-flush.ts";
import type { ServerTarget } from "../faults/server-target.ts";
import { turnedReplica } from "../faults/turned-replica.ts";
import { writeResults } from "../results.ts";
import { roundSeeds } from "../round-seeds.ts";
import { describeVersions } from "../versions.ts";
import { runPeers } from "./run-peers.ts";

const PEERS = [
  "express-rate-limit",
  "rate-limit-redis",
  "@fastify/rate-limit",
  "rate-limiter-flexible",
  "ioredis",
  "redis",
];

/** The faults of a single server. */
const faults = [
  killed,
  frozen,
  lateAtBoot,
  restartedEmpty,
  scriptFlush,
  delayed,
  cut,
  turnedReplica,
  outOfMemory,
] as readonly Fault<ServerTarget>[];

test.each(faults)("$name", async (fault) => {
  const [seed = 0] = roundSeeds;
  const round = await runPeers(fault, seed);
  const ranOn = describeVersions(PEERS);
  writeResults({ suite: "peers", fault: fault.name, title: fault.title, ranOn, rounds: [round] });
  // The results of other limiters are recorded without expectations.
  expect(round.callers.length).toBeGreaterThan(0);
});
