import type { IoredisLike } from "../../packages/core/src/redis/client-port.ts";

type Run = (script: string, keys: number, ...more: string[]) => Promise<unknown>;

/** A client that Headgate takes for one of ioredis, and that runs scripts in its own way. */
export function likeIoredis(evalsha: Run, evaluate: Run = evalsha): IoredisLike {
  const commands = { evalshaBuffer: evalsha, evalBuffer: evaluate };
  return { ...commands, evalsha, eval: evaluate, defineCommand() {} };
}
