// What packages of Headgate that count something else build on; it changes with them, and is no interface for applications.
export type { LuaSource } from "./algorithms/algorithm.ts";
export { codeOf, formatKind, formatNumber, formatReceived } from "./errors.ts";
export { escapePart, escapeSubject, fingerprint } from "./key.ts";
export { readFailureOptions } from "./limiter/failure-options.ts";
export type { NameClaim } from "./limiter/names.ts";
export { claimName, requireName } from "./limiter/names.ts";
export { warn } from "./limiter/notices.ts";
export { rejectForeign } from "./limiter/read-reply.ts";
export { sharedBy } from "./limiter/shared.ts";
export { storeFailure } from "./limiter/store-failure.ts";
export type { StoreWatch } from "./limiter/store-watch.ts";
export { watchStore } from "./limiter/store-watch.ts";
export { rejectUnknownOptions } from "./options.ts";
export type { MemoryTable } from "./store/memory-table.ts";
export type { Moment, Remote, Step, Store } from "./store/store.ts";
export { requireStore } from "./store/store.ts";
export type { Duration } from "./time.ts";
export { MAX_DURATION_MS, parseDuration, toMilliseconds } from "./time.ts";
