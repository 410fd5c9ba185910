// better-auth on Redis, with sign-ins limited by address and e-mail: docs/recipes/login.md says more.

import { createServer } from "node:http";
import type { Decision, Store } from "@headgate/core";
import { createLimiter, slidingLog, slidingWindow } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import type { BetterAuthOptions } from "better-auth";
import { betterAuth } from "better-auth";
import { memoryAdapter } from "better-auth/adapters/memory";
import { APIError, createAuthMiddleware, getIP } from "better-auth/api";
import { toNodeHandler } from "better-auth/node";
import { Redis } from "ioredis";

const SIGN_IN = "/sign-in/email";

/** `options` are yours: the database, and the ways to sign in. */
export function createAuth(store: Store, options: BetterAuthOptions) {
  const requests = createLimiter({
    name: "auth",
    store,
    limits: slidingWindow({ limit: 100, window: "10s" }),
  });
  const signIns = createLimiter({
    name: "sign-in",
    store,
    // A sign-in may take a moment: better than a charge in a slow Redis that the refund below does not reach.
    storeTimeout: "2s",
    limits: [
      // Guesses at one account from one place, at one account from many, and at many from one place.
      slidingLog({ limit: 5, window: "15m", name: "pair", per: "pair" }),
      slidingLog({ limit: 50, window: "1h", name: "account", per: "account" }),
      slidingLog({ limit: 20, window: "1h", name: "ip", per: "ip" }),
    ],
  });
  /** What was decided about the sign-ins that go on. */
  const admitted = new WeakMap<object, Decision>();

  const before = createAuthMiddleware(async ({ path, body, context, request, headers }) => {
    const email: unknown = body?.email;
    // better-auth itself refuses one without an e-mail.
    if (path !== SIGN_IN || typeof email !== "string") return;
    const account = email.toLowerCase();
    const ip = getIP(request ?? headers ?? new Headers(), context.options);
    const pair = ip && `${ip} ${account}`;
    const decision = await signIns.consume({ pair, account, ip });
    if (decision.allowed) {
      admitted.set(context, decision);
      return;
    }
    const retryAfter = String(Math.ceil(decision.retryAfterMs / 1_000));
    const message = "Too many attempts. Please try again later.";
    throw new APIError("TOO_MANY_REQUESTS", { message }, { "Retry-After": retryAfter });
  });

  const after = createAuthMiddleware(async ({ path, context }) => {
    const decision = admitted.get(context);
    if (path !== SIGN_IN || !context.newSession || !decision) return;
    // Only failures count. Without Redis the charge stays; the user is signed in all the same.
    await signIns.refund(decision).catch(() => {});
  });

  return betterAuth({
    ...options,
    hooks: { before, after },
    rateLimit: {
      enabled: true,
      // Of the whole fleet, by the rules of better-auth and its plugins.
      customStorage: {
        async consume(key, { window, max }) {
          const limits = slidingWindow({ limit: max, window: `${window}s` });
          const { allowed, retryAfterMs } = await requests.consume(key, { limits });
          return { allowed, retryAfter: allowed ? null : Math.ceil(retryAfterMs / 1_000) };
        },
      },
      customRules: { [SIGN_IN]: false },
    },
  });
}

// Started as a program, not imported by a test.
if (process.argv[1] === import.meta.filename) {
  const database = memoryAdapter({ user: [], session: [], account: [], verification: [] });
  const options = { database, emailAndPassword: { enabled: true } };
  const auth = createAuth(redisStore(new Redis()), options);
  const answer = toNodeHandler(auth);
  createServer((req, res) => void answer(req, res)).listen(3000);
}
