/**
 * For suites that are about what the store counts: a busy machine must not make a decision late, and each denial must be
 * the store's own.
 */
export const STORE_ALONE = { storeTimeout: "1m", denyCache: false } as const;
