import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { PublishedDecision } from "@headgate/core";
import { CHANNELS } from "@headgate/core";
import type { Client } from "undici";
import { CommandError } from "../../command/command-error.ts";
import type { LoggedRequest } from "../../log/logged-request.ts";
import type { NamedPolicy } from "../policies.ts";
import type { PolicyRun, ReplayDecision } from "../policy-run.ts";
import { storeUnavailableError } from "../policy-run.ts";
import type { ApplicationOptions } from "./application.ts";
import type { Framework } from "./frameworks.ts";
import { loadServe } from "./frameworks.ts";
import { sendableRequest } from "./sendable-request.ts";

export interface HttpOptions extends Omit<ApplicationOptions, "limits"> {
  readonly evicted: () => number;
  /** Called with the response time of each request in milliseconds. */
  readonly onResponse?: ((ms: number) => void) | undefined;
}

/**
 * Runs a policy in an application behind an adapter. Sends each request over one connection after the response to the previous one, so
 * that decisions keep the order of the log. Rejects with a `CommandError`.
 */
export async function runOverHttp(
  framework: Framework,
  { limits }: NamedPolicy,
  { name, store, storeTimeout, evicted, onResponse = () => {} }: HttpOptions,
): Promise<PolicyRun> {
  const serve = await loadServe(framework);
  const { Client } = await import("undici");
  const application = await serve({ name, limits, store, storeTimeout });
  const client = new Client(application.url);
  const waits = subscribeToWaits(name);
  return {
    async decide(_subjects, requests) {
      const decisions: ReplayDecision[] = [];
      for (const request of requests) {
        const start = performance.now();
        const allowed = await send(client, request);
        onResponse(performance.now() - start);
        decisions.push({ allowed, retryAfterMs: allowed ? 0 : waits.last() });
      }
      return decisions;
    },
    evicted,
    async close() {
      waits.close();
      await client.close();
      await application.close();
    },
  };
}

/** Records the exact waits of denials, because `Retry-After` has whole seconds only. */
function subscribeToWaits(name: string): { last(): number; close(): void } {
  let waitMs = 0;
  const onDecision = (message: unknown): void => {
    const { limiter, decision } = message as PublishedDecision;
    if (limiter === name && !decision.allowed) waitMs = decision.retryAfterMs;
  };
  subscribe(CHANNELS.decision, onDecision);
  return { last: () => waitMs, close: () => unsubscribe(CHANNELS.decision, onDecision) };
}

/** Whether the application admitted a request. Rejects with a `CommandError` for other status codes than 200 and 429. */
async function send(client: Client, request: LoggedRequest): Promise<boolean> {
  const { method, path, headers } = sendableRequest(request);
  const { statusCode, body } = await client.request({
    method: method as "GET",
    path,
    headers,
    // The connection stays open after HEAD as well.
    reset: false,
  });
  const text = await body.text();
  if (statusCode === 200 || statusCode === 429) return statusCode === 200;
  if (statusCode === 503) throw storeUnavailableError();
  throw new CommandError(
    `the application answered ${statusCode} to ${method} ${path}: ${text.slice(0, 300)}`,
  );
}
