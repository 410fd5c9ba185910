import { Random } from "../../conformance/random/random.ts";
import type { Caller } from "../callers/caller.ts";
import { makeExpress, makeFastify } from "../callers/headgate-callers.ts";
import type { ServerEndpoint } from "../endpoint.ts";
import type { Fault } from "../faults/fault.ts";
import type { ServerTarget } from "../faults/server-target.ts";
import { measureCaller } from "../measure.ts";
import type { RoundFigures } from "../results.ts";
import type { RoundTiming } from "../round.ts";
import { runRound, stalledShareOf } from "../round.ts";
import { watchState } from "../state-changes.ts";
import { watchRejections } from "../unhandled-rejections.ts";
import { makeExpressRateLimit } from "./express-rate-limit.ts";
import { makeFastifyRateLimit } from "./fastify-rate-limit.ts";
import { makeFlexible } from "./rate-limiter-flexible.ts";

/** The fault outlasts the retries of the clients; at the end, the round waits at most 20 s for answers. */
const TIMING: RoundTiming = {
  intervalMs: 50,
  brokenMs: 12_000,
  recoveryMs: 10_000,
  drainTimeoutMs: 20_000,
};

/** Runs one round of a fault against other limiters and Headgate, all at once. */
export async function runPeers<T extends ServerTarget>(
  fault: Fault<T>,
  seed: number,
): Promise<RoundFigures> {
  // Headgate emits a warning when the store goes down.
  const state = watchState();
  const rejections = watchRejections();
  const target = await fault.start();
  const callers = await makePeers(target.endpoint);
  try {
    if (!fault.isBrokenAtStart) await Promise.all(callers.map(({ client }) => client.connected));
    const round = await runRound(fault, target, callers, new Random(seed), TIMING);
    return {
      seed,
      brokenMs: round.healingAt - round.brokenAt,
      unhandled: rejections.unhandled,
      longestStallMs: round.stalls.longestMs(),
      stalledShare: stalledShareOf(round),
      callers: callers.map((caller) => measureCaller(fault, round, caller)),
    };
  } finally {
    await Promise.all(callers.map((caller) => caller.close()));
    await target.close();
    state.stop();
    rejections.stop();
  }
}

function makePeers(endpoint: ServerEndpoint): Promise<Caller[]> {
  return Promise.all([
    makeFastify("ioredis", endpoint, () => {}),
    makeExpress("node-redis", endpoint),
    makeExpressRateLimit("ioredis", endpoint),
    makeExpressRateLimit("node-redis", endpoint),
    makeFastifyRateLimit("default", endpoint),
    makeFastifyRateLimit("advised", endpoint),
    makeFlexible("ioredis", "default", endpoint),
    makeFlexible("node-redis", "default", endpoint),
    makeFlexible("ioredis", "rejecting", endpoint),
    makeFlexible("node-redis", "rejecting", endpoint),
  ]);
}
