import type { AccessLog } from "./access-log.ts";
import type { Serve } from "./application.ts";
import { openStore } from "./replay-store.ts";
import type { Sent } from "./send-log.ts";
import { sendLog } from "./send-log.ts";
import { serveExpress } from "./serve-express.ts";
import { serveFastify } from "./serve-fastify.ts";
import type { Framework, Settings } from "./settings.ts";

const SERVERS: Record<Framework, Serve> = { fastify: serveFastify, express: serveExpress };

export interface ReplayOptions {
  /** Called before each request. */
  readonly onRequest: () => void;
  readonly warn: (message: string) => void;
  readonly signal: AbortSignal;
}

/** Sends a log to an application behind the limiter, whose store has the time of the request under way. */
export async function replay(
  log: AccessLog,
  { limits, framework, redisUrl }: Settings,
  { onRequest, warn, signal }: ReplayOptions,
): Promise<Sent> {
  let now = 0;
  // A subject for each client in each of the two dimensions by client, and everybody.
  const subjects = log.clients * 2 + 1;
  const place = await openStore({ redisUrl, clock: () => now, subjects, warn });
  try {
    const application = await SERVERS[framework]({ limits, store: place.store });
    try {
      return await sendLog(application.url, log.entries, {
        onRequest({ time }) {
          now = time;
          onRequest();
        },
        signal,
      });
    } finally {
      await application.close();
    }
  } finally {
    await place.close();
  }
}
