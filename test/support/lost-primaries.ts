import type { RedisClient } from "@headgate/core/redis";
import type { RedisProcess } from "./redis-process.ts";

const ALL = process.env["HEADGATE_FAULT_ROUNDS"] !== undefined;

/** One way to lose a primary, and the client that sees it. */
export interface LostPrimary<Library extends string> {
  readonly library: Library;
  readonly fault: "killed" | "frozen";
}

/** Each fault with each client in `test:faults`; a plain run, which has less time, tests one fault with each of the first two. */
export function lostPrimaries<Library extends string>(
  libraries: readonly [Library, Library, ...Library[]],
): LostPrimary<Library>[] {
  const [first, second] = libraries;
  if (ALL) {
    return libraries.flatMap((library) => [
      { library, fault: "killed" },
      { library, fault: "frozen" },
    ]);
  }
  return [
    { library: first, fault: "killed" },
    { library: second, fault: "frozen" },
  ];
}

/** A primary that is lost while a client uses it, and its successor. */
export interface Failover {
  readonly client: RedisClient;
  readonly fault: LostPrimary<string>["fault"];
  readonly primary: RedisProcess;
  /** Resolves when another node has taken over. */
  takenOver(): Promise<unknown>;
  /** The time from the takeover to the first decision that is not degraded, including the client's backoff. */
  readonly recoveryMs: number;
}

/** Loses the primary, and waits until another node has taken over. Resolves with both times, as of `performance.now()`. */
export async function loseTo({ fault, primary, takenOver }: Failover): Promise<{
  readonly lostAt: number;
  readonly takenOverAt: number;
}> {
  const lostAt = performance.now();
  if (fault === "killed") await primary.kill();
  else primary.freeze();
  await takenOver();
  return { lostAt, takenOverAt: performance.now() };
}
