// The throttler service of Twenty: its callers say with each call how many tokens there are, and in which window.
//
//   npx -y pnpm@10.34.9 build
//   node examples/twenty-throttler/main.mjs

import { createLimiter, fixedWindow } from "@headgate/core";

class ThrottlerError extends Error {
  /** @param {number} retryAfterMs */
  constructor(retryAfterMs) {
    super("Limit reached");
    this.retryAfterMs = retryAfterMs;
  }
}

class ThrottlerService {
  /** For calls that bring no limit of their own. */
  #limiter = createLimiter({
    name: "throttler",
    limits: fixedWindow({ limit: 100, window: "1m" }),
  });

  /**
   * Takes tokens, or throws. A window of another length than before has a counter of its own: callers take theirs from the
   * configuration, never from a client.
   *
   * @param {string} key @param {number} tokens @param {number} maxTokens @param {number} windowMs
   */
  async throttleOrThrow(key, tokens, maxTokens, windowMs) {
    const limits = fixedWindow({ limit: maxTokens, window: windowMs });
    const decision = await this.#limiter.consume(key, { cost: tokens, limits });
    if (!decision.allowed) throw new ThrottlerError(decision.retryAfterMs);
    return decision.remaining;
  }

  /**
   * What could be taken now.
   *
   * @param {string} key @param {number} maxTokens @param {number} windowMs
   */
  async available(key, maxTokens, windowMs) {
    const limits = fixedWindow({ limit: maxTokens, window: windowMs });
    return (await this.#limiter.peek(key, { cost: 0, limits })).remaining;
  }

  close() {
    return this.#limiter.close();
  }
}

const throttler = new ThrottlerService();

/** @param {string} key @param {number} tokens @param {number} maxTokens @param {number} windowMs */
async function attempt(key, tokens, maxTokens, windowMs) {
  try {
    const left = await throttler.throttleOrThrow(key, tokens, maxTokens, windowMs);
    console.log(`${key}: ${tokens} taken, ${left} left`);
  } catch (error) {
    if (!(error instanceof ThrottlerError)) throw error;
    console.log(`${key}: ${error.message}, again in ${Math.ceil(error.retryAfterMs / 60_000)} min`);
  }
}

await attempt("workspace-1:graphql", 3, 5, 60_000);
await attempt("workspace-1:graphql", 3, 5, 60_000);
// A larger plan goes on with what was used.
await attempt("workspace-1:graphql", 3, 10, 60_000);
// Another window counts for itself.
await attempt("workspace-1:graphql", 40, 50, 3_600_000);
await attempt("workspace-1:graphql", 20, 50, 3_600_000);
console.log(`left: ${await throttler.available("workspace-1:graphql", 10, 60_000)} a minute`);

await throttler.close();
