import { Random } from "../../conformance/random/random.ts";
import type { Caller } from "../callers/caller.ts";
import { makeExpress, makeFastify } from "../callers/headgate-callers.ts";
import type { Fault } from "../faults/fault.ts";
import type { ServerTarget } from "../faults/server-target.ts";
import { measureCaller } from "../measure.ts";
import type { ServerPlace } from "../place.ts";
import type { RoundFigures } from "../results.ts";
import type { Pace } from "../round.ts";
import { runRound, stalledShareOf } from "../round.ts";
import { watchState } from "../state-changes.ts";
import { watchRejections } from "../unhandled-rejections.ts";
import { makeExpressRateLimit } from "./express-rate-limit.ts";
import { makeFastifyRateLimit } from "./fastify-rate-limit.ts";
import { makeFlexible } from "./rate-limiter-flexible.ts";

/** Long enough to outlast the retries of the clients; and at the end nobody is waited for longer than 20 s. */
const PACE: Pace = { everyMs: 50, brokenMs: 12_000, recoveryMs: 10_000, patienceMs: 20_000 };

/** One round of a fault against other limiters and Headgate, all at once. */
export async function runPeers<T extends ServerTarget>(
  fault: Fault<T>,
  seed: number,
): Promise<RoundFigures> {
  // Headgate warns when the store goes away.
  const state = watchState();
  const rejections = watchRejections();
  const target = await fault.start();
  const callers = await makePeers(target.place);
  try {
    if (!fault.isBrokenAtStart) await Promise.all(callers.map(({ client }) => client.connected));
    const round = await runRound(fault, target, callers, new Random(seed), PACE);
    return {
      seed,
      brokenMs: round.healingAt - round.brokenAt,
      unhandled: rejections.unhandled,
      longestStallMs: round.stalls.longest(),
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

function makePeers(place: ServerPlace): Promise<Caller[]> {
  return Promise.all([
    makeFastify("ioredis", place, () => {}),
    makeExpress("node-redis", place),
    makeExpressRateLimit("ioredis", place),
    makeExpressRateLimit("node-redis", place),
    makeFastifyRateLimit("default", place),
    makeFastifyRateLimit("advised", place),
    makeFlexible("ioredis", "default", place),
    makeFlexible("node-redis", "default", place),
    makeFlexible("ioredis", "rejecting", place),
    makeFlexible("node-redis", "rejecting", place),
  ]);
}
