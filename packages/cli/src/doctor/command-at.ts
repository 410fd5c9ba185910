import { quote } from "../output/visible.ts";
import type { Address } from "./facts/fact.ts";
import type { ServerFacts } from "./facts/facts.ts";

/** A command for a server, as a shell takes it: `redis-cli -h 10.0.0.7 -p 6379 CONFIG SET maxmemory 2gb`. */
export function commandAt({ cli }: Address, ...words: readonly string[]): string {
  return ["redis-cli", ...cli, ...words].map(quote).join(" ");
}

/** The same for a command on a key, which may be on another server of the cluster. */
export function commandOnKey(server: ServerFacts, ...words: readonly string[]): string {
  const isCluster = server.cluster !== undefined;
  return commandAt({ ...server, cli: isCluster ? ["-c", ...server.cli] : server.cli }, ...words);
}
