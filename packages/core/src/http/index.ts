/**
 * The parts of an adapter of any framework: docs/how-to/adapters.md.
 * @packageDocumentation
 */

export type { ErrorWithHeaders, Rejection, Verdict } from "./apply-verdict.ts";
export { addHeadersToError, sendRejection, setHeaders } from "./apply-verdict.ts";
export type { Client, HttpRequest, NodeHeaders, WebHeaders } from "./client.ts";
export { clientOf } from "./client.ts";
export type { CountOption, CountResult } from "./count-option.ts";
export type { GuardOptions, KnownDimension, MissingKey, WaitOption } from "./guard-options.ts";
export type { Header, HeaderOptions, HeadersOption, LegacyStyle, ResetUnit } from "./headers.ts";
export type { HttpAdapter, HttpGuard } from "./http-guard.ts";
export { createHttpGuard } from "./http-guard.ts";
export type { KeyFunction, KeyResult } from "./keys.ts";
export { byHeader, byIp, combineKeys } from "./keys.ts";
export type { AddressList, ClientList, ListedRequest } from "./lists.ts";
export type { QuotaProblem } from "./problem.ts";
export { HeadgateDeniedError, PROBLEM_JSON, toProblem } from "./problem.ts";
export type { AddressOption } from "./proxy-trust.ts";
export { toRateLimitHeaders } from "./rate-limit-response.ts";
export type { RequestDecision } from "./request-decision.ts";
export { subjectOf } from "./request-decision.ts";
export type { RequestPolicy, TierPolicy } from "./request-limits.ts";
export { byTier, perRequest } from "./request-limits.ts";
export type { ByHeaderOptions, ByIpOptions, OpaqueSubject, RequestSubjects } from "./subject.ts";
export {
  combineSubjects,
  subjectOfAddress,
  subjectOfHeader,
  subjectOfMissingKey,
} from "./subject.ts";
export type { Warn } from "./warn.ts";
