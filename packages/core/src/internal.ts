// The base of other Headgate packages that count; it changes with them, and is not an API for applications.

export type { CounterKey } from "./admin/counter-keys.ts";
export { counterKeysOf } from "./admin/counter-keys.ts";
export { isInShadow } from "./admin/in-shadow.ts";
export type { LuaSource } from "./algorithms/algorithm.ts";
export { onceAborted } from "./common/abort-listeners.ts";
export type { Awaitable } from "./common/awaitable.ts";
export { isPromiseLike } from "./common/awaitable.ts";
export { Alarm, background } from "./common/background.ts";
export { clientPart } from "./common/client-state.ts";
export {
  codeOf,
  formatKind,
  formatNumber,
  formatReceived,
  invalidValue,
} from "./common/errors.ts";
export { groupBy } from "./common/group-by.ts";
export { escapePart, escapeSubject, fingerprint } from "./common/key.ts";
export type { Log } from "./common/operator-log.ts";
export { warn } from "./common/operator-log.ts";
export {
  formatOptions,
  rejectCloseOptions,
  rejectMore,
  rejectUnknownOptions,
} from "./common/options.ts";
export { publish } from "./common/publish.ts";
export type { CheckedDuration, Duration } from "./common/time.ts";
export { formatDuration, MAX_DURATION_MS, parseDuration, toMilliseconds } from "./common/time.ts";
export type { StoreMonitor, StoreTimes } from "./health/outage.ts";
export { storeFailure } from "./health/store-failure.ts";
export { watchStore } from "./health/store-monitor.ts";
export { FAILURE_OPTIONS, readFailureOptions } from "./limiter/failure-options.ts";
export { partsOf } from "./limiter/limiter-parts.ts";
export { runList } from "./operations/list-script.ts";
export type { NameClaim } from "./policy/names.ts";
export { claimName, requireName } from "./policy/names.ts";
export { rejectWrongType } from "./policy/wrong-type.ts";
export {
  addToRegistry as listInDirectory,
  removeFromRegistry as unlistInDirectory,
} from "./registry/add-to-registry.ts";
export type { BreakerRecord } from "./registry/record.ts";
export type { CountingStore, Now, Operation, ScriptTransport, TwinMemory } from "./store/store.ts";
export { requireStore } from "./store/store.ts";
export { within } from "./store/within.ts";
export { VERSION } from "./version.generated.ts";
