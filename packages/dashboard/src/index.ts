/**
 * A dashboard for a fleet of limiters, for node:http: shows their decisions and lets operators act on them.
 *
 * @packageDocumentation
 */

export type { Permission } from "./access/visitor.ts";
export type { ActionName } from "./api.ts";
export type { NodeDashboardOptions } from "./node-dashboard.ts";
export { dashboard } from "./node-dashboard.ts";
export type { BreakerLike, DashboardOptions, DoctorReport } from "./options.ts";
