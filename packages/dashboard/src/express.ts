/**
 * The dashboard for Express 4 and 5.
 * @packageDocumentation
 */

export type { Permission } from "./access/visitor.ts";
export type { ActionName } from "./api.ts";
export type { ExpressDashboardOptions, ExpressRequest } from "./express-dashboard.ts";
export { dashboard } from "./express-dashboard.ts";
export type { BreakerLike, DashboardOptions, DoctorReport } from "./options.ts";
