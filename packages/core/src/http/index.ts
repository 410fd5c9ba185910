/**
 * What an adapter of any framework is made of: docs/how-to/adapters.md.
 * @packageDocumentation
 */

export type { AddressOption } from "./address-header.ts";
export type { AddressList } from "./address-list.ts";
export type { TierPolicy } from "./by-tier.ts";
export { byTier } from "./by-tier.ts";
export type { ClientList } from "./client-lists.ts";
export type { CountOption, CountResult } from "./count.ts";
export { HeadgateDenied } from "./denied.ts";
export type { GuardOptions, KnownDimension, MissingKey } from "./guard-options.ts";
export type { NodeHeaders, WebHeaders } from "./header-value.ts";
export type { Header, HeaderOptions, HeadersOption } from "./headers.ts";
export type { HttpAdapter, HttpGuard } from "./http-guard.ts";
export { createHttpGuard } from "./http-guard.ts";
export type {
  ByHeaderOptions,
  ByIpOptions,
  HttpRequest,
  KeyFunction,
  KeyResult,
} from "./key-function.ts";
export { byAll, byHeader, byIp } from "./key-function.ts";
export {
  subjectOfAddress,
  subjectOfAll,
  subjectOfHeader,
  subjectOfMissing,
} from "./known-subjects.ts";
export type { ListedRequest } from "./listed-request.ts";
export { sendRejection, setHeaders } from "./node-response.ts";
export type { RequestPolicy } from "./per-request.ts";
export { perRequest } from "./per-request.ts";
export type { QuotaProblem } from "./problem.ts";
export { PROBLEM_JSON, toProblem } from "./problem.ts";
export type { OwnDecision } from "./request-state.ts";
export { subjectOf } from "./request-state.ts";
export type { RequestSubjects } from "./request-subjects.ts";
export type { KindSubject } from "./subject.ts";
export type { Client, Rejection, Verdict } from "./verdict.ts";
export { clientOf } from "./verdict.ts";
export type { WaitOption } from "./wait-option.ts";
export type { Warn } from "./warn.ts";

// For the adapters of Headgate only: these change with them, in any release.

/** @internal */
export { formatReceived } from "../errors.ts";
/** @internal */
export { fingerprint } from "../key.ts";
/** @internal */
export { partsOf } from "../limiter/limiter.ts";
/** @internal */
export { FAILURE_OPTIONS } from "../limiter/outage/failure-options.ts";
/** @internal */
export { warn } from "../limiter/outage/notices.ts";
/** @internal */
export type { Log } from "../limiter/outage/outage.ts";
/** @internal */
export type { Failure, Head, NodeResponse } from "./denied-response.ts";
/** @internal */
export { BODY_HEADERS, DENIAL_HEADERS, DeniedResponse, letAnswer } from "./denied-response.ts";
/** @internal */
export type { Adapter, Guard } from "./guard.ts";
/** @internal */
export { createGuard } from "./guard.ts";
/** @internal */
export type { GuardLimiters } from "./guard-limiters.ts";
/** @internal */
export {
  areReady,
  LIMITER_OPTIONS,
  limiterOptionsOf,
  makeGuardLimiters,
  readStore,
} from "./guard-limiters.ts";
/** @internal */
export { validateGuardOptions } from "./guard-options.ts";
/** @internal */
export { valueBehind } from "./headers.ts";
/** @internal */
export { isFirst } from "./is-first.ts";
/** @internal */
export { isPromiseLike } from "./is-promise-like.ts";
/** @internal */
export { settle } from "./settle.ts";
/** @internal */
export { toError } from "./to-error.ts";
/** @internal */
export { rejectUnreadKeys } from "./unread-keys.ts";
/** @internal */
export { warnOnce } from "./warn.ts";
