import type { BreakerOptions } from "@headgate/breaker";
import { breakerOptionsOf, readRegistry } from "@headgate/core/admin";
import { CommandError } from "../command/command-error.ts";
import { readJson } from "../command/read-json.ts";
import type { Connection } from "../connect/connection.ts";

/** The options of a breaker, from the given JSON or from the registry. Rejects with a `CommandError`. */
export async function findBreaker(
  { store, timeoutMs }: Connection,
  name: string,
  json: string | undefined,
): Promise<BreakerOptions> {
  if (json !== undefined)
    return breakerOptionsOf(readJson("--options", json) as Readonly<Record<string, unknown>>);
  const { breakers } = await readRegistry(store, { timeout: timeoutMs });
  const found = breakers.filter((one) => one.name === name);
  const [first] = found;
  if (first === undefined) {
    const names = [...new Set(breakers.map((one) => JSON.stringify(one.name)))].join(", ");
    const there = names === "" ? "which has no breaker" : `which has ${names}`;
    throw new CommandError(
      `no breaker ${JSON.stringify(name)} in the registry, ${there}; if it is not listed, give its options with --options`,
    );
  }
  if (first.isTruncated === true) {
    throw new CommandError(
      `the options of ${JSON.stringify(name)} are too long for the registry: give them with --options @FILE`,
    );
  }
  if (new Set(found.map(({ fingerprint }) => fingerprint)).size > 1) {
    throw new CommandError(
      `processes have ${JSON.stringify(name)} with several windows: give one with --options`,
    );
  }
  return breakerOptionsOf(first.options);
}
