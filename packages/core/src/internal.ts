// The base of other Headgate packages that count; it changes with them, and is not an API for applications.

export type { CounterKey } from "./admin/counter-keys.ts";
export { counterKeysOf } from "./admin/counter-keys.ts";
export { isInShadow } from "./admin/limiter-versions.ts";
export type { LuaSource } from "./algorithms/algorithm.ts";
export { addAbortCallback } from "./common/abort-listeners.ts";
export { BackgroundTimer, background } from "./common/background.ts";
export { shareByClient } from "./common/client-state.ts";
export {
  codeOf,
  formatKind,
  formatNumber,
  formatReceived,
  invalidValue,
} from "./common/errors.ts";
export { groupBy } from "./common/group-by.ts";
export { boundSubject, escapePart, escapeSubject, fingerprint } from "./common/key.ts";
export type { LogFunction } from "./common/operator-log.ts";
export { emitWarning } from "./common/operator-log.ts";
export {
  formatOptions,
  rejectCloseOptions,
  rejectExtraArgument,
  rejectUnknownOptions,
} from "./common/options.ts";
export { publish } from "./common/publish.ts";
export type { CheckedDuration, Duration } from "./common/time.ts";
export {
  formatDuration,
  MAX_DURATION_MS,
  parseDuration,
  parseMilliseconds,
  toMilliseconds,
} from "./common/time.ts";
export type { Awaitable } from "./common/type-guards.ts";
export { isPlainObject, isPromiseLike } from "./common/type-guards.ts";
export { yieldToEventLoop } from "./common/yield-to-event-loop.ts";
export { toStoreFailure } from "./health/store-failure.ts";
export type { StoreMonitor, StoreTimeouts } from "./health/store-monitor.ts";
export { monitorStore } from "./health/store-monitor.ts";
export { FAILURE_OPTIONS, readFailureOptions } from "./limiter/failure-options.ts";
/** @internal Its types would bring those of nearly all of core. */
export { internalsOf } from "./limiter/limiter-internals.ts";
export { defineListOperation, rejectWrongType } from "./operations/list-script.ts";
export type { NameClaim } from "./policy/names.ts";
export { claimName, requireName } from "./policy/names.ts";
export {
  addToRegistry,
  ownLimitersOf,
  removeFromRegistry,
} from "./registry/add-to-registry.ts";
export { processDetails } from "./registry/process-registry.ts";
export type { BreakerRecord } from "./registry/record.ts";
export { OBJECT_FORMAT } from "./store/memory-table.ts";
export type {
  CountingStore,
  MemoryAccess,
  Operation,
  OperationContext,
  ScriptTransport,
} from "./store/store.ts";
export { requireStore } from "./store/store.ts";
export { withTimeout } from "./store/with-timeout.ts";
export { VERSION } from "./version.generated.ts";
