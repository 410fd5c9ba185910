// The base of our own HTTP adapters; it changes with them, and is not an API for applications.

export { shareInProcess } from "./common/client-state.ts";
export { formatReceived, invalidOption, invalidValue } from "./common/errors.ts";
export { fingerprint } from "./common/key.ts";
export type { LogFunction } from "./common/operator-log.ts";
export { emitWarning, isFirstWarning } from "./common/operator-log.ts";
export type { Awaitable } from "./common/type-guards.ts";
export { isPromiseLike } from "./common/type-guards.ts";
export type { MirroredHeaders, ReplyWithRaw } from "./http/apply-verdict.ts";
export { applyVerdict, mirrorHeaders, resolveHeaderValue } from "./http/apply-verdict.ts";
export type { RequestWrapper } from "./http/client.ts";
export { unwrapRequest, WRAPPED_REQUEST } from "./http/client.ts";
export type {
  DenialOutcome,
  DenialReply,
  DeniedResponse,
  Failure,
} from "./http/denied-response.ts";
export { BODY_HEADERS, DENIAL_HEADERS, handleDenial } from "./http/denied-response.ts";
export type { Guard } from "./http/guard.ts";
export { createGuard } from "./http/guard.ts";
export type { GuardLimiters } from "./http/guard-limiters.ts";
export { createGuardLimiters, readStore, waitUntilReady } from "./http/guard-limiters.ts";
export type {
  CheckedGuardTimes,
  EndedResponse,
  SingleLimiterOptions,
  TieredLimiterOptions,
} from "./http/guard-options.ts";
export type { AdapterGuard, InternalParts } from "./http/http-guard.ts";
export { createAdapterGuard } from "./http/http-guard.ts";
export { describeKey } from "./http/keys.ts";
export { rejectUnusedKeys } from "./http/option-conflicts.ts";
export type { GuardSettings } from "./http/parse-guard-options.ts";
export { parseGuardOptions } from "./http/parse-guard-options.ts";
export { reportedDecision } from "./http/rate-limit-response.ts";
export type { PolicyFunctions } from "./http/request-limits.ts";
export { isRequestPolicy } from "./http/request-limits.ts";
export { watchResponse } from "./http/response-end.ts";
export { formatSubject } from "./http/subject.ts";
export { toError, warnOnce, withErrors } from "./http/warn.ts";
/** @internal Its types would bring those of nearly all of core. */
export { internalsOf } from "./limiter/limiter-internals.ts";
export { withTimeout } from "./store/with-timeout.ts";
