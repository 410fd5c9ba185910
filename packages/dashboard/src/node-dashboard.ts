import type { IncomingMessage, ServerResponse } from "node:http";
import { HeadgateError } from "@headgate/core";
import { formatReceived } from "@headgate/core/internal";
import { createDashboard } from "./dashboard.ts";
import type { DashboardOptions } from "./options.ts";
import type { NodeHandler } from "./serve/node-handler.ts";
import { createNodeHandler } from "./serve/node-handler.ts";

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
  return createNodeHandler(
    created,
    (request, response) => options.authorize(request, response),
    parsePath(options.path),
  );
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
