import type { Limit, Policy } from "@headgate/core";
import { readPolicy } from "@headgate/core";
import type { Decision } from "@headgate/express";
import {
  byHeader,
  byIp,
  byTier,
  concurrency,
  fixedWindow,
  gcra,
  perRequest,
  rateLimit,
} from "@headgate/express";
import express from "express";

const app = express();
const limiting = rateLimit({
  limits: [
    gcra({ limit: 100, window: "1m", per: "apiKey" }),
    gcra({ limit: 300, window: "1m", per: "ip" }),
  ],
  key: { apiKey: byHeader("x-api-key"), ip: byIp() },
  cost: (req) => req.url.length,
  onDenied: (req, res, { retryAfterMs }) => res.json({ path: req.path, retryAfterMs }),
});
app.use(limiting);
export const closed: Promise<void> = limiting.close();
void limiting.limiter.reset("somebody");

app.get("/users/:user/files/:file", limiting, (req, res) => {
  const user: string = req.params.user;
  const file: string = req.params.file;
  const decision: Decision | undefined = req.rateLimit;
  // @ts-expect-error the path has no such parameter: the types of the path survive the middleware before the handler
  const other: string = req.params.other;
  res.json({ user, file, other, remaining: decision?.remaining });
});

const key = { apiKey: byHeader("x-api-key") };
rateLimit({ limits: gcra({ limit: 100, window: "1m", per: "apiKey" }), key });
// @ts-expect-error a misspelt dimension
rateLimit({ limits: gcra({ limit: 100, window: "1m", per: "apiKye" }), key });
rateLimit({
  limits: byTier(
    { free: gcra({ limit: 100, window: "1m" }), premium: gcra({ limit: 1000, window: "1m" }) },
    (req) =>
      req.get("x-trial") === undefined && req.headers["x-plan"] === "premium" ? "premium" : "free",
  ),
});
rateLimit({ limits: readPolicy({}) });
rateLimit({ limits: readPolicy({}), key: { tenant: byHeader("x-tenant") } });
const tiers = { free: gcra({ limit: 1, window: "1m" }), paid: readPolicy({}) };
rateLimit({ limits: byTier(tiers, async (req) => (req.url === "/" ? "free" : "paid")) });
rateLimit({ limits: byTier(tiers, (req) => req.headers["x-plan"] as "free" | "paid") });
rateLimit({ limits: byTier(tiers as Record<string, typeof tiers.paid>, (req) => req.url) });
// @ts-expect-error a tier that does not exist
byTier(tiers, () => "gold");
// @ts-expect-error a tier that may not exist
byTier(tiers, (req) => req.url);
void rateLimit({
  limits: perRequest(gcra({ limit: 30, window: "1h" }), async (req) =>
    req.get("x-plan") === "staff" ? null : gcra({ limit: req.url.length, window: "1h" }),
  ),
}).limiter.reset("ada");
rateLimit({ limits: perRequest(tiers.free, () => readPolicy({})) });
rateLimit({
  limits: perRequest(tiers.free, (req) => [
    fixedWindow({ limit: req.url.length, window: "1d", block: "1h" }),
    concurrency({ limit: 2, ttl: "1m" }),
  ]),
});
// @ts-expect-error the base counts by no tenant
perRequest(tiers.free, () => fixedWindow({ limit: 1, window: "1d", per: "tenant" }));
rateLimit({ limits: byTier({ ...tiers, staff: null }, () => "staff") }).tiers.get("free");
// @ts-expect-error nothing is neither limits nor null
perRequest(tiers.free, () => undefined);
rateLimit({
  // @ts-expect-error a dimension without a key
  limits: perRequest(gcra({ limit: 1, window: "1m", per: "apiKye" }), () => null),
  key,
});
const resetting = rateLimit({
  limits: gcra({ limit: 100, window: "1m", per: "apiKey" }),
  key,
  resetDimensions: ["apiKey", "ip"],
  storeTimeout: process.env["TIMEOUT"] ?? "100ms",
});
app.get("/login", async (req, res) => res.json(await resetting.resetClient(req)));
const perApiKey = gcra({ limit: 1, window: "1m", per: "apiKey" });
// @ts-expect-error a misspelt dimension
rateLimit({ limits: perApiKey, key, resetDimensions: ["apiKye"] });
// @ts-expect-error all clients would be reset
rateLimit({ limits: gcra({ limit: 1, window: "1m" }), resetDimensions: ["global"] });
// @ts-expect-error no such unit
rateLimit({ limits: gcra({ limit: 1, window: "1m" }), wait: "1 sec" });
// @ts-expect-error another limiter's option
rateLimit({ limits: gcra({ limit: 100, window: "1m" }), keyGenerator: () => "" });
// @ts-expect-error decisions are read, not written
app.get("/", (req) => ((req.rateLimit as Decision).remaining = 5));

/** A function of one's own that takes limits passes them on. */
export const limitBy = (limits: Limit[] | Policy) =>
  rateLimit({ limits, key: (req) => req.get("x-user") });
export const limitByUser = (limits: Limit[]) => rateLimit({ limits, key: { user: byIp() } });
rateLimit({ limits: gcra({ limit: 1, window: "1m" }), key: (req) => req.params["team"] });
rateLimit({ limits: gcra({ limit: 1, window: "1m" }), key: (req) => req.headers["x-api-key"] });
// @ts-expect-error a client can make an object of a query
rateLimit({ limits: gcra({ limit: 1, window: "1m" }), key: (req) => req.query["user"] });
// @ts-expect-error an object is no key
rateLimit({ limits: gcra({ limit: 1, window: "1m" }), key: () => ({ user: 7 }) });
// @ts-expect-error nor is it later
rateLimit({ limits: gcra({ limit: 1, window: "1m" }), key: async () => ({ user: 7 }) });
const perUser = gcra({ limit: 1, window: "1m", per: "user" });
// @ts-expect-error nor is it in one of several dimensions
rateLimit({ limits: perUser, key: { user: () => ({ id: 7 }) } });
