import { senderOf } from "../clients.mjs";

/** One command that counts, and decides nothing. */
export function makeIncr({ client, prefix }) {
  return {
    consume: (subject) => client.incr(`${prefix}:${subject}`),
    isAllowed: (count) => Number(count) > 0,
  };
}

/** The fixed cost of a limiter with one script. */
export async function makeEvalsha({ library, client, prefix }) {
  const sha = await senderOf(library, client)("SCRIPT", "LOAD", "return {1,0}");
  return {
    consume:
      library === "ioredis"
        ? (subject) => client.evalsha(sha, 1, `${prefix}:${subject}`)
        : (subject) => client.evalSha(sha, { keys: [`${prefix}:${subject}`] }),
    isAllowed: ([allowed]) => Number(allowed) === 1,
  };
}
