/**
 * The dashboard for Express 4 and 5.
 * @packageDocumentation
 */

import type { ServerResponse } from "node:http";
import { createDashboard } from "./dashboard.ts";
import type { MountedRequest, NodeHandler } from "./node-dashboard.ts";
import { createNodeHandler } from "./node-dashboard.ts";
import type { DashboardOptions } from "./options.ts";

export type { Permission } from "./access/visitor.ts";
export type { ActionName } from "./api.ts";
export type { BreakerLike, DashboardOptions, DoctorReport } from "./options.ts";

/** A request of Express, without the types of Express: annotate `authorize` with its own `Request` for the rest. */
export interface ExpressRequest extends MountedRequest {
  readonly ip?: string | undefined;
}

/** Options of the middleware. */
export interface ExpressDashboardOptions extends DashboardOptions<ExpressRequest, ServerResponse> {}

/**
 * Middleware that shows the limiters of a store: `app.use("/limits", dashboard({ store, authorize }))`. It responds to every request below
 * its path. Throws `HEADGATE_INVALID_OPTION`, also without `authorize`.
 */
export function dashboard(options: ExpressDashboardOptions): NodeHandler {
  return createNodeHandler(createDashboard(options as DashboardOptions), options, "");
}
