// What an adapter of any framework is made of: docs/how-to/adapters.md.

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

export { formatReceived } from "../errors.ts";
export { fingerprint } from "../key.ts";
export { partsOf } from "../limiter/limiter.ts";
export { FAILURE_OPTIONS } from "../limiter/outage/failure-options.ts";
export { warn } from "../limiter/outage/notices.ts";
export type { Log } from "../limiter/outage/outage.ts";
export type { Failure, Head, NodeResponse } from "./denied-response.ts";
export { BODY_HEADERS, DENIAL_HEADERS, DeniedResponse, letAnswer } from "./denied-response.ts";
export type { Adapter, Guard } from "./guard.ts";
export { createGuard } from "./guard.ts";
export type { GuardLimiters } from "./guard-limiters.ts";
export {
  LIMITER_OPTIONS,
  limiterOptionsOf,
  makeGuardLimiters,
  readStore,
} from "./guard-limiters.ts";
export { validateGuardOptions } from "./guard-options.ts";
export { valueBehind } from "./headers.ts";
export { isFirst } from "./is-first.ts";
export { isPromiseLike } from "./is-promise-like.ts";
export { settle } from "./settle.ts";
export { toError } from "./to-error.ts";
export { rejectUnreadKeys } from "./unread-keys.ts";
export { warnOnce } from "./warn.ts";
