import type { Decision, Limit, Policy } from "@headgate/core";
import {
  createLimiter,
  gcra,
  HeadgateError,
  memoryStore,
  readPolicy,
  tokenBucket,
} from "@headgate/core";
import { toProblem } from "@headgate/core/http";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";

const limiter = createLimiter({
  name: "api",
  limits: [gcra({ limit: 10, window: "1s" }), gcra({ limit: 1000, window: "1h", per: "tenant" })],
  store: memoryStore({ maxKeys: 10 }),
});
const decision: Promise<Decision> = limiter.consume({ default: "a", tenant: "b" }, { cost: 3 });
void decision.then(({ retryAfterMs, limits }) => retryAfterMs.toFixed() + limits[0]?.name.trim());
void decision.then(toProblem).then(({ status }) => status.toFixed());

/** A cost by name is settled by name, and what became of it is reported so. */
const estimate = { requests: 1, tokens: 512 };
void limiter.consume("u", { cost: estimate }).then(({ cost }) => cost === 1 || Object.keys(cost));
void decision.then(async (one) => (await limiter.settle(one, 731)).counted.toFixed());
void decision.then(async (one) =>
  (await limiter.settle(one, estimate)).overflow["tokens"]?.toFixed(),
);
void limiter.charge("u").then(({ overflow }) => overflow.toFixed());
void limiter.charge("u", { cost: estimate }).then(({ counted }) => Object.values(counted));
// @ts-expect-error units are numbers
void limiter.peek("u", { cost: { tokens: "5" } });
// @ts-expect-error an estimate that may be missing must not cost the default
void limiter.wait("u", { cost: { tokens: undefined } });
// @ts-expect-error what is charged by name is reported by name
void limiter.charge("u", { cost: estimate }).then(({ counted }) => counted.toFixed());

const byTenant = createLimiter({ limits: gcra({ limit: 1000, window: "1h", per: "tenant" }) });
// @ts-expect-error a misspelt dimension
void byTenant.consume({ tenatn: "b" });

/** A limit that names no dimension must not make the others' any text. */
const mixed = createLimiter({
  limits: [gcra({ limit: 10, window: "1s" }), gcra({ limit: 99, window: "1h", per: "account" })],
});
void mixed.consume({ default: "u", account: "a" });
// @ts-expect-error a misspelt dimension
void mixed.consume({ default: "u", acount: "a" });

// @ts-expect-error a misspelt option
createLimiter({ limit: gcra({ limit: 10, window: "1s" }) });
// @ts-expect-error no such unit
gcra({ limit: 10, window: "1 fortnight" });
// @ts-expect-error an algorithm that does not exist
export const unknownLimit: Limit = { algorithm: "gcar", limit: 10, window: "1s" };

export const plain: Limit = { algorithm: "gcra", limit: 10, window: "1s" };
createLimiter({ limits: tokenBucket({ capacity: 5, refill: 1, every: 100 }) });
createLimiter({
  name: "redis",
  limits: plain,
  store: redisStore(new Redis({ lazyConnect: true })),
});

/** As the compiler sees a JSON file that is imported. */
const file = { algorithm: "gcra", limit: 100, window: "1m" };
// @ts-expect-error any text might be its algorithm, and its window
createLimiter({ limits: file });
const fromFile: Policy = readPolicy(file);
createLimiter({ limits: fromFile });
createLimiter({ limits: readPolicy(JSON.parse("[]")) });
createLimiter({
  limits: readPolicy({ algorithm: "gcra", limit: Number(process.env["LIMIT"]), window: "1m" }),
});
const fromUnknown = createLimiter({ limits: readPolicy(JSON.parse("[]") as unknown) });
void fromUnknown.consume("u");
void fromUnknown.consume({ default: "u", tenant: "t" });

export const isOurs = (error: unknown): boolean =>
  error instanceof HeadgateError && error.code === "HEADGATE_CLOSED";
// @ts-expect-error a code that does not exist
export const isMisspelt = (error: HeadgateError): boolean => error.code === "HEADGATE_CLOSD";
