import { Agent, request } from "undici";
import type { Answer } from "./caller.ts";
import { SUBJECT_HEADER } from "./policy.ts";

/** What the server under test reports its decision, so that one place knows both ends of an answer. */
export const DECISION_HEADER = "x-decision";

export type ServedDecision = Omit<Answer, "isAdmitted">;

export function formatDecision(decision: ServedDecision): string {
  return JSON.stringify(decision);
}

/** Asks a server on a port of 127.0.0.1. Nothing is pipelined: a question that hangs holds up no other. */
export function askOverHttp(port: number): {
  ask(subject: string): Promise<Answer>;
  end(): Promise<void>;
} {
  // A question may hang for as long as its server lets it.
  const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  return {
    async ask(subject) {
      const { statusCode, headers, body } = await request(`http://127.0.0.1:${port}/`, {
        headers: { [SUBJECT_HEADER]: subject },
        dispatcher: agent,
      });
      const text = await body.text();
      if (statusCode !== 200 && statusCode !== 429) throw new Error(`${statusCode}: ${text}`);
      const decision = JSON.parse(String(headers[DECISION_HEADER])) as ServedDecision;
      return { isAdmitted: statusCode === 200, ...decision };
    },
    end: () => agent.destroy(),
  };
}
