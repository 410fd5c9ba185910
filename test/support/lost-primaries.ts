import type { RedisClient } from "@headgate/core/redis";
import type { RedisProcess } from "./redis-process.ts";

const ALL = process.env["HEADGATE_FAULT_ROUNDS"] !== undefined;

/** One way to lose a primary, and the client that sees it. */
export interface LostPrimary<Library extends string> {
  readonly library: Library;
  readonly fault: "killed" | "frozen";
}

/** Every way through every client in `test:faults`; in a plain run, which has less time, one way through each of the first two. */
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

/** A primary that is lost while a client asks it, and who takes its place. */
export interface Failover {
  readonly client: RedisClient;
  readonly fault: LostPrimary<string>["fault"];
  readonly primary: RedisProcess;
  /** Resolves when somebody else has its place. */
  takenOver(): Promise<unknown>;
  /** From then to the first undegraded answer for everybody; clients have a backoff of their own. */
  readonly recoveryMs: number;
}

/** Loses the primary, and waits until somebody else has its place. Resolves with both moments, of `performance.now()`. */
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
