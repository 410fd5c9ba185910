/**
 * The parts of an adapter of any framework: docs/how-to/adapters.md.
 * @packageDocumentation
 */

export type { AddressList, AddressOption } from "./address-option.ts";
export type { Client, HttpRequest, NodeHeaders, WebHeaders } from "./client.ts";
export { clientOf } from "./client.ts";
export type { CountOption, CountResult } from "./count-option.ts";
export type { ErrorWithHeaders } from "./error-headers.ts";
export { addHeadersToError } from "./error-headers.ts";
export type { GuardOptions, KnownDimension, MissingKey, WaitOption } from "./guard-options.ts";
export type { HttpAdapter, HttpGuard } from "./http-guard.ts";
export { createHttpGuard } from "./http-guard.ts";
export type { ByHeaderOptions, ByIpOptions, KeyFunction, KeyResult } from "./keys.ts";
export { byHeader, byIp, combineKeys } from "./keys.ts";
export type { ClientList, ListedRequest } from "./lists.ts";
export type { QuotaProblem } from "./problem.ts";
export { HeadgateDeniedError, PROBLEM_JSON, toProblem } from "./problem.ts";
export { sendRejection, setHeaders, toRateLimitHeaders } from "./rate-limit-response.ts";
export type { RequestDecision } from "./request-decision.ts";
export { subjectOf } from "./request-decision.ts";
export type { RequestPolicy, TierPolicy } from "./request-limits.ts";
export { byTier, perRequest } from "./request-limits.ts";
export type { OpaqueSubject, RequestSubjects } from "./subject.ts";
export {
  combineSubjects,
  subjectOfAddress,
  subjectOfHeader,
  subjectOfMissingKey,
} from "./subjects-of-values.ts";
export type {
  Header,
  HeaderOptions,
  HeadersOption,
  LegacyStyle,
  Rejection,
  ResetUnit,
  Verdict,
} from "./verdict.ts";
export type { Warn } from "./warn.ts";
