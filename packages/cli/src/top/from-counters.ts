// biome-ignore lint/style/noRestrictedImports: the form of counters' keys is no interface for applications
import type { CounterKey } from "@headgate/core/internal";
// biome-ignore lint/style/noRestrictedImports: the form of counters' keys is no interface for applications
import { counterKeysOf } from "@headgate/core/internal";
import type { Inspection, RegistryLimiter } from "@headgate/core/operate";
import { createAdmin, readRegistry } from "@headgate/core/operate";
import { CommandError } from "../command/command-error.ts";
import type { Connection } from "../connect/connection.ts";
import type { ScanProgress } from "./scan-keys.ts";
import { scanKeys } from "./scan-keys.ts";
import type { CounterSubject, CounterTop } from "./top.ts";

/** So many subjects are asked about at a time. */
const TOGETHER = 64;

/** So many are told. */
const MOST_SUBJECTS = 50;

/** A counter's key with the policy that it is of. */
interface Counter {
  readonly key: CounterKey;
  readonly limiter: RegistryLimiter;
}

/**
 * Finds who has used most by the counters themselves: looks at so many keys at most for those of the limiter, and asks about their
 * subjects. Rejects with a `CommandError`, and as the store does.
 */
export async function topFromCounters(
  connection: Connection,
  limiter: string,
  mostKeys: number,
  progress: ScanProgress,
  signal: AbortSignal,
): Promise<CounterTop> {
  const { store, client, prefix, timeoutMs } = connection;
  const listed = (await policiesOf(connection, limiter)).flatMap((one) => [
    one,
    // A policy of another shape is looked at like a limiter's own.
    ...(one.others ?? []).map((other) => ({ ...one, ...other })),
  ]);
  const { pattern, read } = counterKeysOf(limiter, prefix);
  const { keys, looked, isWhole } = await scanKeys(client, pattern, mostKeys, progress, signal);
  const counters = keys.flatMap((text): Counter[] => {
    const key = read(text);
    const owner = listed.find(({ shapes }) => shapes.some((shape) => isOf(key, shape)));
    return key === undefined || owner === undefined ? [] : [{ key, limiter: owner }];
  });
  const admin = createAdmin(store, { storeTimeout: timeoutMs });
  const subjects: CounterSubject[] = [];
  for (let from = 0; from < counters.length; from += TOGETHER) {
    signal.throwIfAborted();
    const some = counters.slice(from, from + TOGETHER);
    const asked = await Promise.all(some.map((one) => inspect(admin, one)));
    subjects.push(...asked.filter((one) => one !== undefined));
  }
  const share = ({ used, limit }: CounterSubject): number => used / limit;
  return {
    limiter,
    source: "counters",
    by: "used",
    keys: looked,
    isWhole,
    hashed: counters.filter(({ key }) => key.subject === undefined).length,
    subjects: subjects
      .filter(({ used, blocked }) => used > 0 || blocked)
      .sort((one, other) => share(other) - share(one) || (one.subject < other.subject ? -1 : 1))
      .slice(0, MOST_SUBJECTS),
  };
}

/** The policies that processes have under a name. */
async function policiesOf(
  { store, timeoutMs }: Connection,
  name: string,
): Promise<readonly RegistryLimiter[]> {
  const { limiters } = await readRegistry(store, { timeout: timeoutMs });
  const listed = limiters.filter((one) => one.name === name && one.isCut !== true);
  if (listed.length > 0) return listed;
  throw new CommandError(
    `no usage is kept of the limiter ${JSON.stringify(name)}, and no process lists it: check the name and --prefix, or turn usage on with redisStore(client, { usage: true })`,
  );
}

function isOf(
  key: CounterKey | undefined,
  { per, fingerprint }: RegistryLimiter["shapes"][number],
): boolean {
  return key?.dimension === per && key.fingerprint === fingerprint;
}

async function inspect(
  admin: ReturnType<typeof createAdmin>,
  { key, limiter }: Counter,
): Promise<CounterSubject | undefined> {
  const { dimension, subject } = key;
  if (subject === undefined) return undefined;
  const { name, limits, blockOn } = limiter;
  const asked = { name, limits, ...(blockOn === undefined ? {} : { blockOn }) };
  return usedMost(await admin.inspect(asked, { [dimension]: subject }), dimension, subject);
}

/** Of the limit that leaves the least. */
function usedMost(
  { limits, blocked }: Inspection,
  dimension: string,
  subject: string,
): CounterSubject | undefined {
  const used = limits.map(({ name, limit, remaining, overdrawn }) => ({
    dimension,
    subject,
    name,
    limit,
    used: limit - remaining + overdrawn,
    blocked,
  }));
  return used.sort((one, other) => other.used / other.limit - one.used / one.limit)[0];
}
