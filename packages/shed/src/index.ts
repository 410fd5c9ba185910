/**
 * Load shedding: keeps a process useful while requests arrive faster than it can handle them.
 * @packageDocumentation
 */

export type { KeyFunction } from "@headgate/core/http";
export { byHeader, byIp, combineKeys } from "@headgate/core/http";
export type { LoadStatus, ShedRequest } from "./channels.ts";
export { SHED_CHANNELS } from "./channels.ts";
export type {
  FastifyLike,
  FastifyPluginLike,
  FastifyReplyLike,
  FastifyRequestLike,
  HonoContextLike,
  HonoMiddlewareLike,
  NodeRequest,
  NodeResponse,
  NodeSocket,
} from "./frameworks.ts";
export type { ShedReason } from "./law/admission.ts";
export type { Priority } from "./law/line.ts";
export type { LoadState } from "./law/load-monitor.ts";
export type { LoadShedder } from "./load-shedder.ts";
export { loadShedder } from "./load-shedder.ts";
export type { LoadShedderOptions } from "./options.ts";
