import { subscribe } from "node:diagnostics_channel";
import type { Decision, Duration, Limit, Policy, Store, ThresholdReached } from "@headgate/core";
import {
  CHANNELS,
  combineKeys,
  concurrency,
  createLimiter,
  fixedWindow,
  gcra,
  HeadgateError,
  memoryStore,
  readPolicy,
  slidingLog,
  slidingWindow,
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

/** A cost by name is settled by name, and the result reports it by name. */
const estimate = { requests: 1, tokens: 512 };
void limiter.consume("u", { cost: estimate }).then(({ cost }) => cost === 1 || Object.keys(cost));
void decision.then(async (one) => (await limiter.settle(one, 731)).charged.toFixed());
void decision.then(async (one) =>
  (await limiter.settle(one, estimate)).overflow["tokens"]?.toFixed(),
);
void limiter.charge("u").then(({ overflow }) => overflow.toFixed());
void limiter.charge("u", { cost: estimate }).then(({ charged }) => Object.values(charged));
// @ts-expect-error units are numbers
void limiter.peek("u", { cost: { tokens: "5" } });
// @ts-expect-error an estimate that may be missing must not cost the default
void limiter.wait("u", { cost: { tokens: undefined } });
// @ts-expect-error what is charged by name is reported by name
void limiter.charge("u", { cost: estimate }).then(({ charged }) => charged.toFixed());

void limiter.consume("u", { upTo: 50 }).then(({ granted = 0 }) => granted.toFixed());
void limiter.peek("u", { upTo: 50, limits: gcra({ limit: 10, window: "1s" }) });
// @ts-expect-error a cost is charged in full, so it cannot be used with upTo
void limiter.consume("u", { upTo: 50, cost: 1 });
// @ts-expect-error upTo is one number
void limiter.consume("u", { upTo: { tokens: 50 } });
// @ts-expect-error wait takes no upTo
void limiter.wait("u", { upTo: 50 });

void limiter.meter("u", { estimate: 500, every: 100 }).then(async (meter) => {
  meter.add(20);
  const reason: unknown = meter.signal.reason;
  return [reason, meter.decision.allowed, (await meter.end()).charged.toFixed()];
});
// @ts-expect-error every is required
void limiter.meter("u", { estimate: 500 });
// @ts-expect-error an estimate is one number
void limiter.meter("u", { every: 10, estimate: { tokens: 500 } });

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
// @ts-expect-error no such unit, with a dimension
gcra({ limit: 10, window: "1 fortnight", per: "tenant" });
// @ts-expect-error no such unit, with a dimension that the compiler does not know
gcra({ limit: 10, window: "1 fortnight", per: process.env["PER"] ?? "ip" });
// @ts-expect-error a unit is missing in one of several
slidingWindow({ limit: 10, window: "1m", block: ["1m", "10"] });
// @ts-expect-error no such unit in a rule
slidingLog({ limit: 10, window: "1m", block: { after: 3, for: "1 hr" } });
// @ts-expect-error not a window of the calendar
fixedWindow({ limit: 10, window: "days" });
// @ts-expect-error nothing
tokenBucket({ capacity: 5, refill: 1, every: "" });
// @ts-expect-error no such unit
concurrency({ limit: 2, ttl: "30 sec" });
// @ts-expect-error no such unit
createLimiter({ limits: gcra({ limit: 10, window: "1s" }), storeTimeout: "100 msec" });
// @ts-expect-error no such unit
void limiter.block("u", "1 fortnight");

/** Thresholds are shares of a limit on units. */
gcra({ limit: 10, window: "1m", notifyAt: [0.8, 1] });
tokenBucket({ capacity: 5, refill: 1, every: "1m", per: "tenant", notifyAt: [0.5] as const });
// @ts-expect-error a list, also of one
slidingLog({ limit: 10, window: "1m", notifyAt: 0.8 });
// @ts-expect-error shares are numbers
fixedWindow({ limit: 10, window: "month", notifyAt: ["80%"] });
// @ts-expect-error slots are not used up
concurrency({ limit: 2, ttl: "30s", notifyAt: [1] });
const format = (message: ThresholdReached) =>
  `${message.used.toFixed()} of ${message.limit.toFixed()}: ${message.threshold} ${message.name.trim()} ${message.subject["default"]?.trim()}`;
subscribe(CHANNELS.threshold, (message) => void format(message as ThresholdReached));

/** Text that the compiler does not know is checked when the limiter is made. */
const length = process.env["LENGTH"] ?? "1m";
void createLimiter({
  limits: [
    gcra({ limit: 10, window: length, per: "tenant", block: ["1 minute", "2 hours"] }),
    tokenBucket({ capacity: 5, refill: 1, every: process.env["EVERY"] ?? "30 seconds" }),
    fixedWindow({ limit: 9, window: "day", block: { after: 3, for: length } }),
    fixedWindow({ limit: 9, window: "1 day", name: "a" }),
    fixedWindow({ limit: 9, window: length, name: "b" }),
    slidingWindow({ limit: 9, window: `${Number(length)} minutes` }),
    concurrency({ limit: 2, ttl: length }),
  ],
  storeTimeout: process.env["TIMEOUT"] ?? "100ms",
  lease: false,
}).consume({ tenant: "t", default: "u" });
void limiter.block({ tenant: "t" }, length, { ignoreUnknownDimensions: true });
void limiter.reset({ tenant: "t", other: "o" } as Record<string, string>, {
  ignoreUnknownDimensions: true,
});
const span: Duration = length;
gcra({ limit: 10, window: span });
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

/** A function of one's own that takes limits passes them on; dimensions that the compiler does not know are checked at run time. */
export const consumeWith = (subject: string, limits: Limit[] | Policy) =>
  limiter.consume({ default: subject, tenant: "b" }, { limits, ignoreUnknownDimensions: true });
const single = createLimiter({ limits: gcra({ limit: 10, window: "1s" }) });
export const chargeWith = (limits: readonly Limit[]) => single.charge("u", { limits });
export const limitWith = (limits: Limit[]) => createLimiter({ limits }).consume({ tenant: "b" });
// @ts-expect-error a dimension that the limiter lacks, where the compiler knows it
void single.consume("u", { limits: gcra({ limit: 1, window: "1s", per: "tenant" }) });

/** A store is passed on, and shows its prefix. */
const store: Store = memoryStore();
createLimiter({ name: "passed-on", limits: plain, store });
store.prefix.trim();
// @ts-expect-error its methods are for Headgate's own packages
store.run;

// @ts-expect-error its type is only for Headgate's own packages
export type { CountingStore } from "@headgate/core";

// @ts-expect-error memoryStore or redisStore makes it
createLimiter({ name: "made-by-hand", limits: plain, store: { prefix: "hg" } });
/** As another copy of the package, or its other format, declares it. */
interface StoreOfAnotherCopy {
  readonly prefix: string;
  readonly "~store": never;
}
export const fromAnotherCopy = (other: StoreOfAnotherCopy): Store => other;
export const toAnotherCopy: StoreOfAnotherCopy = store;

/** For any framework's request. */
export const pair = combineKeys(
  (_: { readonly headers: object }, ip) => ip,
  () => "account",
);

export const isOurs = (error: unknown): boolean =>
  error instanceof HeadgateError && error.code === "HEADGATE_CLOSED";
// @ts-expect-error a code that does not exist
export const isMisspelt = (error: HeadgateError): boolean => error.code === "HEADGATE_CLOSD";
