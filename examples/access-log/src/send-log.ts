import { Client } from "undici";
import { Failure } from "./failure.ts";
import { forwardedFor } from "./forwarded-for.ts";
import { Latencies } from "./latencies.ts";
import type { LogEntry } from "./log-line.ts";
import { Tally } from "./tally.ts";

/** What was seen of a log's requests. */
export interface Sent {
  readonly tally: Tally;
  readonly latencies: Latencies;
  /** Milliseconds from the first request to the last answer. */
  readonly elapsedMs: number;
}

export interface SendOptions {
  /** Called before each request. */
  readonly onRequest: (entry: LogEntry) => void;
  readonly signal: AbortSignal;
}

/**
 * Sends requests over one connection, each when the one before is answered, so that the order of the log is the order of the
 * decisions. Throws a `Failure` for any answer but 200 and 429, and the signal's reason when it is aborted.
 */
export async function sendLog(
  url: string,
  entries: readonly LogEntry[],
  { onRequest, signal }: SendOptions,
): Promise<Sent> {
  const client = new Client(url);
  const tally = new Tally();
  const latencies = new Latencies(entries.length);
  const start = performance.now();
  try {
    for (const entry of entries) {
      signal.throwIfAborted();
      onRequest(entry);
      const asked = performance.now();
      const status = await send(client, entry);
      latencies.add(performance.now() - asked);
      tally.count(entry.client, status === 200);
    }
  } finally {
    await client.close();
  }
  return { tally, latencies, elapsedMs: performance.now() - start };
}

async function send(client: Client, { method, path, client: from }: LogEntry): Promise<200 | 429> {
  const { statusCode, body } = await client.request({
    method: method as "GET",
    path,
    headers: { "x-forwarded-for": forwardedFor(from) },
    // The connection stays open after HEAD as well.
    reset: false,
  });
  const text = await body.text();
  if (statusCode === 200 || statusCode === 429) return statusCode;
  throw new Failure(
    `the application answered ${statusCode} to ${method} ${path}: ${text.slice(0, 300)}`,
  );
}
