/**
 * A fleet of limiters in a browser, to view and to act on. For node:http.
 *
 * @packageDocumentation
 */

export type { Permission } from "./access/visitor.ts";
export type { ActionName } from "./api.ts";
export type { NodeDashboardOptions } from "./node-dashboard.ts";
export { dashboard } from "./node-dashboard.ts";
export type { BreakerLike, DashboardOptions, DoctorReport } from "./options.ts";
