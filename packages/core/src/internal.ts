// What packages of Headgate that count something else build on; it changes with them, and is no interface for applications.
export type { LuaSource } from "./algorithms/algorithm.ts";
export type { Awaitable } from "./awaitable.ts";
export { isPromiseLike } from "./awaitable.ts";
export { clientPart } from "./client-state.ts";
export { codeOf, formatKind, formatNumber, formatReceived } from "./errors.ts";
export type { BreakerRecord } from "./fleet/directory/directory.ts";
export {
  list as listInDirectory,
  unlist as unlistInDirectory,
} from "./fleet/directory/listings.ts";
export { valueBehind } from "./http/answer.ts";
export { rejectUnreadKeys } from "./http/conflicts.ts";
export type { Failure } from "./http/denied-response.ts";
export { BODY_HEADERS, DENIAL_HEADERS, DeniedResponse, letAnswer } from "./http/denied-response.ts";
export type { Guard } from "./http/guard.ts";
export { createGuard, settle } from "./http/guard.ts";
export type { GuardLimiters } from "./http/guard-limiters.ts";
export { areReady, makeGuardLimiters, readStore } from "./http/guard-limiters.ts";
export type { AdapterGuard } from "./http/http-guard.ts";
export { createAdapterGuard } from "./http/http-guard.ts";
export type { GuardSettings } from "./http/parse-guard.ts";
export { parseGuard } from "./http/parse-guard.ts";
export { isFirst, toError, warnOnce } from "./http/warn.ts";
export { escapePart, escapeSubject, fingerprint } from "./key.ts";
export { partsOf } from "./limiter/limiter.ts";
export { onceAborted } from "./limiter/line/abort-listeners.ts";
export type { NameClaim } from "./limiter/names.ts";
export { claimName, requireName } from "./limiter/names.ts";
export { FAILURE_OPTIONS, readFailureOptions } from "./limiter/outage/failure-options.ts";
export { warn } from "./limiter/outage/notices.ts";
export type { Log, StoreTimes, StoreWatch } from "./limiter/outage/outage.ts";
export { storeFailure } from "./limiter/outage/store-failure.ts";
export { watchStore } from "./limiter/outage/store-watch.ts";
export { publish } from "./limiter/publish.ts";
export { rejectWrongType } from "./limiter/read-reply.ts";
export { formatOptions, rejectCloseOptions, rejectMore, rejectUnknownOptions } from "./options.ts";
export { runList } from "./store/list-script.ts";
export type { Moment, Remote, Step, Store, TwinMemory } from "./store/store.ts";
export { requireStore } from "./store/store.ts";
export type { Duration } from "./time.ts";
export { formatDuration, MAX_DURATION_MS, parseDuration, toMilliseconds } from "./time.ts";
export { VERSION } from "./version.generated.ts";
