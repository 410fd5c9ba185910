import type { IoredisLike } from "../../packages/core/src/redis/client-port.ts";

type Run = (script: string, keys: number, ...more: string[]) => Promise<unknown>;

/** A client that Headgate recognizes as ioredis, with the given functions for EVALSHA and EVAL. */
export function likeIoredis(evalsha: Run, evaluate: Run = evalsha): IoredisLike {
  const commands = { evalshaBuffer: evalsha, evalBuffer: evaluate };
  return { ...commands, evalsha, eval: evaluate, defineCommand() {} };
}
