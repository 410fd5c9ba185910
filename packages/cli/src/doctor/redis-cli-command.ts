import { quoteForShell } from "../output/terminal-text.ts";
import type { ServerAddress } from "./facts/fact.ts";
import type { ServerFacts } from "./facts/facts.ts";

/** A shell command for a server: `redis-cli -h 10.0.0.7 -p 6379 CONFIG SET maxmemory 2gb`. */
export function redisCliCommand(
  { redisCliArgs }: ServerAddress,
  ...args: readonly string[]
): string {
  return ["redis-cli", ...redisCliArgs, ...args].map(quoteForShell).join(" ");
}

/** A shell command on a key, which may be on another server of the cluster. */
export function redisCliKeyCommand(server: ServerFacts, ...args: readonly string[]): string {
  const isCluster = server.cluster !== undefined;
  return redisCliCommand(
    { ...server, redisCliArgs: isCluster ? ["-c", ...server.redisCliArgs] : server.redisCliArgs },
    ...args,
  );
}
