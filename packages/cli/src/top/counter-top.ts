import type { Inspection, RegistryLimiter } from "@headgate/core/admin";
import { createAdmin, readRegistry } from "@headgate/core/admin";
// biome-ignore lint/style/noRestrictedImports: applications have no interface for the keys of counters
import type { CounterKey } from "@headgate/core/internal";
// biome-ignore lint/style/noRestrictedImports: applications have no interface for the keys of counters
import { counterKeysOf } from "@headgate/core/internal";
import { CommandError } from "../command/command-error.ts";
import type { Connection } from "../connect/connection.ts";
import type { Progress } from "../output/progress.ts";

/** The subjects with the largest used share by the counters, as printed by `--json`. */
export interface CounterTop {
  readonly limiter: string;
  readonly source: "counters";
  readonly by: "used";
  /** The number of scanned keys, and whether these are all. */
  readonly scannedKeys: number;
  readonly isComplete: boolean;
  /** The number of subjects that are known only by their hash and not listed. */
  readonly hashedSubjects: number;
  readonly subjects: readonly CounterSubject[];
}

/** The usage of the limit of which the subject has used the largest share. */
export interface CounterSubject {
  readonly dimension: string;
  readonly subject: string;
  /** The name, the units and the used units of the limit. */
  readonly name: string;
  readonly limit: number;
  readonly used: number;
  readonly blocked: boolean;
}

/** How many subjects are inspected concurrently. */
const BATCH_SIZE = 64;

/** The most subjects listed. */
const MAX_SUBJECTS = 50;

interface Counter {
  readonly key: CounterKey;
  readonly limiter: RegistryLimiter;
}

/**
 * Finds the subjects with the largest used share by scanning at most `maxKeys` keys for counters of the limiter, and inspecting their
 * subjects. Rejects with a `CommandError`, and like the store.
 */
export async function readCounterTop(
  connection: Connection,
  limiter: string,
  maxKeys: number,
  progress: Progress,
  signal: AbortSignal,
): Promise<CounterTop> {
  const { store, client, prefix, timeoutMs } = connection;
  const listed = (await readPolicies(connection, limiter)).flatMap((one) => [
    one,
    // Policies of other shapes are treated like the limiter's own.
    ...(one.perCallPolicies ?? []).map((other) => ({ ...one, ...other })),
  ]);
  const { pattern, read } = counterKeysOf(limiter, prefix);
  const { keys, scanned, isComplete } = await scanKeys(client, pattern, maxKeys, progress, signal);
  const counters = keys.flatMap((text): Counter[] => {
    const key = read(text);
    const owner = listed.find(({ shapes }) => shapes.some((shape) => hasShape(key, shape)));
    return key === undefined || owner === undefined ? [] : [{ key, limiter: owner }];
  });
  const admin = createAdmin(store, { storeTimeout: timeoutMs });
  const subjects: CounterSubject[] = [];
  for (let from = 0; from < counters.length; from += BATCH_SIZE) {
    signal.throwIfAborted();
    const some = counters.slice(from, from + BATCH_SIZE);
    const inspected = await Promise.all(some.map((one) => inspect(admin, one)));
    subjects.push(...inspected.filter((one) => one !== undefined));
  }
  const share = ({ used, limit }: CounterSubject): number => used / limit;
  return {
    limiter,
    source: "counters",
    by: "used",
    scannedKeys: scanned,
    isComplete,
    hashedSubjects: counters.filter(({ key }) => key.subject === undefined).length,
    subjects: subjects
      .filter(({ used, blocked }) => used > 0 || blocked)
      .sort((one, other) => share(other) - share(one) || (one.subject < other.subject ? -1 : 1))
      .slice(0, MAX_SUBJECTS),
  };
}

async function readPolicies(
  { store, timeoutMs }: Connection,
  name: string,
): Promise<readonly RegistryLimiter[]> {
  const { limiters } = await readRegistry(store, { timeout: timeoutMs });
  const listed = limiters.filter((one) => one.name === name && one.isTruncated !== true);
  if (listed.length > 0) return listed;
  throw new CommandError(
    `no usage is recorded for the limiter ${JSON.stringify(name)}, and no process lists it: check the name and --prefix, or turn usage on with redisStore(client, { usage: true })`,
  );
}

function hasShape(
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
  const definition = { name, limits, ...(blockOn === undefined ? {} : { blockOn }) };
  return mostUsedLimit(
    await admin.inspect(definition, { [dimension]: subject }),
    dimension,
    subject,
  );
}

/** The usage of the limit with the largest used share. */
function mostUsedLimit(
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

/** The matching keys, and the number of scanned keys. */
interface ScanResult {
  readonly keys: readonly string[];
  readonly scanned: number;
  readonly isComplete: boolean;
}

const KEYS_PER_SCAN = 1_000;

/**
 * Scans at most `maxKeys` keys, on a cluster on one primary after the other. Rejects like the client, and with the signal's
 * reason.
 */
async function scanKeys(
  client: Connection["client"],
  pattern: string,
  maxKeys: number,
  progress: Progress,
  signal: AbortSignal,
): Promise<ScanResult> {
  const servers = "nodes" in client ? client.nodes("master") : [client];
  const sizes = await Promise.all(servers.map((server) => server.dbsize()));
  const all = sizes.reduce((sum, size) => sum + size, 0);
  const found = new Set<string>();
  let scanned = 0;
  let isComplete = true;
  progress.start(Math.min(all, maxKeys));
  try {
    for (const [i, server] of servers.entries()) {
      const before = scanned;
      let cursor = "0";
      do {
        signal.throwIfAborted();
        if (scanned >= maxKeys) {
          isComplete = false;
          break;
        }
        const step = Math.min(KEYS_PER_SCAN, maxKeys - scanned);
        const [next, keys] = await server.scan(cursor, "MATCH", pattern, "COUNT", step);
        for (const key of keys) found.add(key);
        cursor = next;
        scanned = Math.min(scanned + step, before + (sizes[i] ?? 0));
        progress.update(scanned);
      } while (cursor !== "0");
    }
  } finally {
    progress.stop();
  }
  return { keys: [...found], scanned, isComplete };
}
