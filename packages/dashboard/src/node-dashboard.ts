import type { IncomingMessage, ServerResponse } from "node:http";
import { HeadgateError } from "@headgate/core";
import { formatReceived } from "@headgate/core/internal";
import type { Dashboard } from "./dashboard.ts";
import { createDashboard } from "./dashboard.ts";
import type { DashboardOptions } from "./options.ts";
import { handleRequest } from "./router.ts";
import type { HttpExchange, HttpResponse } from "./serve/http-exchange.ts";
import { splitUrl } from "./serve/http-exchange.ts";

/** Options of `dashboard` for node:http. */
export interface NodeDashboardOptions extends DashboardOptions<IncomingMessage, ServerResponse> {
  /** The path of the page in URLs, such as `"/limits"`. Default `"/"`. Not needed if a framework removes the mount path. */
  readonly path?: string | undefined;
}

/**
 * A handler that shows the limiters of a store and lets operators act on them: `createServer(dashboard({ store, authorize }))`. Throws
 * `HEADGATE_INVALID_OPTION`, also without `authorize`.
 */
export function dashboard(options: NodeDashboardOptions): NodeHandler {
  const created = createDashboard(options as DashboardOptions, ["path"]);
  return createNodeHandler(created, options, parsePath(options.path));
}

function parsePath(path: string | undefined): string {
  if (path === undefined) return "";
  if (typeof path === "string" && path.startsWith("/") && !/[?#]/.test(path)) {
    return path.replace(/\/+$/, "");
  }
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `dashboard: path must begin with a slash, got ${formatReceived(path)}`,
  );
}

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
  options: DashboardOptions<MountedRequest, ServerResponse>,
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
      authorize: async () => options.authorize(request, response),
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
