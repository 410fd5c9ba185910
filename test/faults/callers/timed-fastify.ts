import type { AddressInfo } from "node:net";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import Fastify from "fastify";
import type { DecisionSource } from "./caller.ts";
import { createHttpClient, DECISION_HEADER, formatDecision } from "./http-client.ts";

interface LogLine {
  readonly level: number;
  readonly code?: string;
  readonly msg: string;
}

/** How to install a limiter in an application, and how to read the source of a decision. */
export interface FastifySite {
  install(app: FastifyInstance): Promise<unknown>;
  sourceOf(request: FastifyRequest, reply: FastifyReply): DecisionSource;
  /** Receives the application's log lines, from warnings upwards. */
  readonly onLog?: (line: LogLine) => void;
}

/** Serves an application over HTTP; each response reports when its decision was requested and when it was made. */
export async function serveFastify({ install, sourceOf, onLog = () => {} }: FastifySite) {
  const stream = { write: (line: string) => onLog(JSON.parse(line) as LogLine) };
  const app = Fastify({ forceCloseConnections: true, logger: { level: "warn", stream } });
  const arrivals = new WeakMap<FastifyRequest, number>();
  app.addHook("onRequest", async (request) => {
    arrivals.set(request, performance.now());
  });
  app.addHook("onSend", async (request, reply) => {
    reply.header(
      DECISION_HEADER,
      formatDecision({
        source: sourceOf(request, reply),
        requestedAt: arrivals.get(request) as number,
        decidedAt: performance.now(),
      }),
    );
  });
  await install(app);
  app.get("/", async () => "admitted");
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { consume, close: closeClient } = createHttpClient(
    (app.addresses()[0] as AddressInfo).port,
  );
  return {
    consume,
    async close() {
      await closeClient();
      await app.close();
    },
  };
}
