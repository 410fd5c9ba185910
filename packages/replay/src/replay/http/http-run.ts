import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import { Agent, request as sendHttp } from "node:http";
import { text } from "node:stream/consumers";
import type { PublishedDecision, Store } from "@headgate/core";
import { CHANNELS, HeadgateError } from "@headgate/core";
import type { LogEntry } from "../../log/log-entry.ts";
import type { ReplayPolicy } from "../policies.ts";
import type { Framework, PolicyRun, PolicyRunOptions, ReplayDecision } from "../policy-run.ts";
import { storeUnavailableError } from "../policy-run.ts";
import { sendableRequest } from "./sendable-request.ts";

/** An application behind the limiter, listening on loopback. It answers every admitted request with 200. */
export interface Application {
  readonly url: string;
  close(): Promise<void>;
}

export interface ApplicationOptions {
  /** The name of the limiter. */
  readonly name: string;
  readonly limits: ReplayPolicy["limits"];
  readonly store: Store;
  /** Milliseconds. */
  readonly storeTimeout: number;
}

/** Starts an application of one framework. */
type Serve = (options: ApplicationOptions) => Promise<Application>;

interface HttpOptions extends PolicyRunOptions {
  /** Called with the response time of each request in milliseconds. */
  readonly onResponse?: ((ms: number) => void) | undefined;
}

/**
 * Runs a policy in an application behind an adapter. Sends each request over one connection after the response to the previous one, so
 * that decisions keep the order of the log. Rejects with `HEADGATE_INVALID_OPTION` if the framework is not installed.
 */
export async function runOverHttp(
  framework: Framework,
  { limits }: ReplayPolicy,
  { name, store, storeTimeout, evicted, onResponse = () => {} }: HttpOptions,
): Promise<PolicyRun> {
  const serve = await loadServe(framework);
  const application = await serve({ name, limits, store, storeTimeout });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const waits = subscribeToWaits(name);
  return {
    async decide(_subjects, requests) {
      const decisions: ReplayDecision[] = [];
      for (const request of requests) {
        const start = performance.now();
        const allowed = await isAdmitted(application.url, agent, request);
        onResponse(performance.now() - start);
        decisions.push({ allowed, retryAfterMs: allowed ? 0 : waits.last() });
      }
      return decisions;
    },
    evicted,
    async close() {
      waits.close();
      agent.destroy();
      await application.close();
    },
  };
}

/** Loads a framework and its adapter, which are not dependencies of this package. */
async function loadServe(framework: Framework): Promise<Serve> {
  try {
    return framework === "fastify"
      ? (await import("./serve-fastify.ts")).serveFastify
      : (await import("./serve-express.ts")).serveExpress;
  } catch (error) {
    if (!/^(ERR_)?MODULE_NOT_FOUND$/.test(String((error as NodeJS.ErrnoException).code)))
      throw error;
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `a replay behind ${framework} needs two more packages: npm install ${framework} @headgate/${framework}`,
      { cause: error },
    );
  }
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

/** Whether the application admitted a request. Rejects for other status codes than 200 and 429. */
async function isAdmitted(url: string, agent: Agent, request: LogEntry): Promise<boolean> {
  const { method, path, headers } = sendableRequest(request);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    sendHttp(url, { agent, method, path, headers }, resolve).on("error", reject).end();
  });
  const body = await text(response);
  const { statusCode } = response;
  if (statusCode === 200 || statusCode === 429) return statusCode === 200;
  if (statusCode === 503) throw storeUnavailableError();
  throw new HeadgateError(
    "HEADGATE_BAD_REPLY",
    `the application answered ${statusCode} to ${method} ${path}: ${body.slice(0, 300)}`,
  );
}
