import { senderOf } from "../clients.mjs";

/** One command that counts, and decides nothing. */
export function makeIncr({ client, prefix }) {
  return {
    ask: (subject) => client.incr(`${prefix}:${subject}`),
    isAllowed: (count) => Number(count) > 0,
  };
}

/** What a limiter in one script pays before it does anything. */
export async function makeEvalsha({ library, client, prefix }) {
  const sha = await senderOf(library, client)("SCRIPT", "LOAD", "return {1,0}");
  return {
    ask:
      library === "ioredis"
        ? (subject) => client.evalsha(sha, 1, `${prefix}:${subject}`)
        : (subject) => client.evalSha(sha, { keys: [`${prefix}:${subject}`] }),
    isAllowed: ([allowed]) => Number(allowed) === 1,
  };
}
