import type { Address } from "./facts/address.ts";

/** A command for a server, as a shell takes it: `redis-cli -h 10.0.0.7 -p 6379 CONFIG SET maxmemory 2gb`. */
export function commandAt({ cli }: Address, ...words: readonly string[]): string {
  return ["redis-cli", ...cli, ...words].map(quote).join(" ");
}

/** A word of a command line that a shell hands on as it is. */
function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
