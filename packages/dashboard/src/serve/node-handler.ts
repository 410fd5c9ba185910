import type { IncomingMessage, ServerResponse } from "node:http";
import type { Dashboard } from "../dashboard.ts";
import { handleRequest } from "../router.ts";
import type { HttpExchange, HttpResponse } from "./http-exchange.ts";
import { splitUrl } from "./http-exchange.ts";

/** Properties that Express adds to a request. */
export interface MountedRequest extends IncomingMessage {
  /** The path at which a handler is mounted. */
  readonly baseUrl?: string | undefined;
  /** The URL before a mount path was removed. */
  readonly originalUrl?: string | undefined;
  /** The body, if it was read already. */
  readonly body?: unknown;
}

/** A handler for node:http, and for everything with the same interface. */
export type NodeHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  next?: (error?: unknown) => void,
) => void;

/** Handles requests below a path without a trailing slash. Others are passed to `next`, or get 404. */
export function createNodeHandler(
  dashboard: Dashboard,
  authorize: (request: MountedRequest, response: ServerResponse) => unknown,
  mountPath: string,
): NodeHandler {
  return (request: MountedRequest, response, next) => {
    const { path, query } = splitUrl(request.url ?? "/");
    const below = pathBelowMount(path, mountPath);
    if (below === undefined && next !== undefined) {
      next();
      return;
    }
    const exchange: HttpExchange = {
      raw: request,
      path: (below ?? "/~").slice(1),
      query,
      parsedBody: request.body,
      authorize: async () => authorize(request, response),
      isResponseSent: () => response.headersSent || response.writableEnded,
    };
    void handleRequest(dashboard, exchange).then((result) => {
      if (result !== undefined) writeResponse(request, response, result);
    });
  };
}

function pathBelowMount(path: string, mountPath: string): string | undefined {
  if (mountPath === "") return path;
  if (path === mountPath) return "";
  return path.startsWith(`${mountPath}/`) ? path.slice(mountPath.length) : undefined;
}

function writeResponse(
  request: IncomingMessage,
  response: ServerResponse,
  { status, headers, body }: HttpResponse,
) {
  if (response.headersSent || response.destroyed) return;
  const bytes = Buffer.from(body);
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (status !== 304) response.setHeader("content-length", bytes.length);
  response.end(request.method === "HEAD" || status === 304 ? undefined : bytes);
}
