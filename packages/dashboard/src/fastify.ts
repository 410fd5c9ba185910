/**
 * The dashboard for Fastify 5, as a plugin.
 * @packageDocumentation
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import { createDashboard } from "./dashboard.ts";
import type { DashboardOptions } from "./options.ts";
import { handleRequest } from "./router.ts";
import type { HttpExchange } from "./serve/http-exchange.ts";
import { splitUrl } from "./serve/http-exchange.ts";

export type { Permission } from "./access/visitor.ts";
export type { ActionName } from "./api.ts";
export type { BreakerLike, DashboardOptions, DoctorReport } from "./options.ts";

/** Options of the plugin. */
export interface FastifyDashboardOptions
  extends DashboardOptions<FastifyRequestLike, FastifyReplyLike> {
  /** The path of the page, handled by Fastify. */
  readonly prefix?: string | undefined;
}

/** All methods of a route, so that any but GET and POST get status 405. */
const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/**
 * The plugin: `app.register(dashboard, { prefix: "/limits", store, authorize })`. Its routes and its body parser are
 * encapsulated. Registration rejects with `HEADGATE_INVALID_OPTION`, also without `authorize`.
 */
export async function dashboard(app: FastifyLike, options: FastifyDashboardOptions): Promise<void> {
  const created = createDashboard(options as DashboardOptions, [
    "prefix",
    "logLevel",
    "logSerializers",
  ]);
  // The dashboard reads bodies itself, and limits their size.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));

  async function handle(request: FastifyRequestLike, reply: FastifyReplyLike): Promise<unknown> {
    const result = await handleRequest(created, exchangeOf(request, reply, options));
    if (result === undefined) return reply;
    reply.code(result.status);
    reply.headers({ ...result.headers });
    const isEmpty = result.status === 304;
    return reply.send(isEmpty ? undefined : Buffer.from(result.body));
  }

  for (const url of ["/", "/*"]) {
    app.route({
      method: METHODS,
      url,
      handler: (request, reply) => handle(request as FastifyRequestLike, reply as FastifyReplyLike),
    });
  }
}

function exchangeOf(
  request: FastifyRequestLike,
  reply: FastifyReplyLike,
  options: FastifyDashboardOptions,
): HttpExchange {
  return {
    raw: request.raw,
    path: (request.params as { readonly "*"?: string } | undefined)?.["*"] ?? "",
    query: splitUrl(request.originalUrl).query,
    parsedBody: undefined,
    authorize: async () => options.authorize(request, reply),
    isResponseSent: () => reply.sent || reply.raw.headersSent,
  };
}

/** The part of Fastify that the plugin uses: it needs neither Fastify nor its types. */
export interface FastifyLike {
  removeAllContentTypeParsers(): void;
  addContentTypeParser(
    contentType: string,
    parser: (
      request: object,
      payload: object,
      done: (error: Error | null, body?: unknown) => void,
    ) => void,
  ): unknown;
  route(options: {
    readonly method: string[];
    readonly url: string;
    readonly handler: (request: object, reply: object) => Promise<unknown>;
  }): unknown;
}

/** The part of a request of Fastify that the plugin and `authorize` may use. */
export interface FastifyRequestLike {
  readonly raw: IncomingMessage;
  readonly url: string;
  readonly originalUrl: string;
  readonly params: unknown;
  readonly headers: IncomingMessage["headers"];
  readonly ip: string;
}

/** The part of a reply of Fastify that the plugin and `authorize` may use. */
export interface FastifyReplyLike {
  readonly raw: ServerResponse;
  readonly sent: boolean;
  code(status: number): unknown;
  headers(headers: Record<string, string>): unknown;
  send(body?: unknown): unknown;
}
