import { Agent, request } from "undici";
import type { CallResult } from "./caller.ts";
import { SUBJECT_HEADER } from "./policy.ts";

/** The response header in which the server under test reports its decision. This module writes and reads it. */
export const DECISION_HEADER = "x-decision";

export type TimedDecision = Omit<CallResult, "isAdmitted">;

export function formatDecision(decision: TimedDecision): string {
  return JSON.stringify(decision);
}

/** Sends requests to a port of 127.0.0.1, without pipelining: a request that hangs does not delay any other. */
export function createHttpClient(port: number): {
  consume(subject: string): Promise<CallResult>;
  close(): Promise<void>;
} {
  // The server decides how long a request may hang, so the client has no timeouts.
  const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  return {
    async consume(subject) {
      const { statusCode, headers, body } = await request(`http://127.0.0.1:${port}/`, {
        headers: { [SUBJECT_HEADER]: subject },
        dispatcher: agent,
      });
      const text = await body.text();
      if (statusCode !== 200 && statusCode !== 429) throw new Error(`${statusCode}: ${text}`);
      const decision = JSON.parse(String(headers[DECISION_HEADER])) as TimedDecision;
      return { isAdmitted: statusCode === 200, ...decision };
    },
    close: () => agent.destroy(),
  };
}
