/**
 * The dashboard for Fastify 5, as a plugin.
 * @packageDocumentation
 */

export type { Permission } from "./access/visitor.ts";
export type { ActionName } from "./api.ts";
export type { FastifyDashboardOptions } from "./fastify-dashboard.ts";
export { dashboard } from "./fastify-dashboard.ts";
export type { FastifyLike, FastifyReplyLike, FastifyRequestLike } from "./fastify-like.ts";
export type { BreakerLike, DashboardOptions, DoctorReport } from "./options.ts";
