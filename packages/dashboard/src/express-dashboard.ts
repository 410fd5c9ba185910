import type { ServerResponse } from "node:http";
import { createDashboard } from "./dashboard.ts";
import type { DashboardOptions } from "./options.ts";
import type { MountedRequest, NodeHandler } from "./serve/node-handler.ts";
import { createNodeHandler } from "./serve/node-handler.ts";

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
  const created = createDashboard(options as DashboardOptions);
  return createNodeHandler(
    created,
    (request, response) => options.authorize(request, response),
    "",
  );
}
