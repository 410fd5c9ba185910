import type { AddressInfo } from "node:net";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import Fastify from "fastify";
import { askOverHttp, DECISION_HEADER, formatDecision } from "./ask-over-http.ts";
import type { Taker } from "./caller.ts";

interface LogLine {
  readonly level: number;
  readonly code?: string;
  readonly msg: string;
}

/** How a limiter is put into an application, and how one sees who took a decision. */
export interface FastifySite {
  install(app: FastifyInstance): Promise<unknown>;
  takerOf(request: FastifyRequest, reply: FastifyReply): Taker;
  /** What the application logs, from warnings upwards. */
  readonly onLog?: (line: LogLine) => void;
}

/** Serves an application over HTTP; each answer says when its decision was asked for and when it was there. */
export async function serveFastify({ install, takerOf, onLog = () => {} }: FastifySite) {
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
        takenBy: takerOf(request, reply),
        decidedFrom: arrivals.get(request) as number,
        decidedAt: performance.now(),
      }),
    );
  });
  await install(app);
  app.get("/", async () => "admitted");
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { ask, end } = askOverHttp((app.addresses()[0] as AddressInfo).port);
  return {
    ask,
    async close() {
      await end();
      await app.close();
    },
  };
}
