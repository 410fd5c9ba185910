import type { Limit, Policy } from "@headgate/core";
import type { Decision } from "@headgate/hono";
import { byHeader, byIp, byTier, combineKeys, gcra, perRequest, rateLimit } from "@headgate/hono";
import { Hono } from "hono";

const app = new Hono<{ Variables: { user: string } }>();
const limiting = rateLimit({
  limits: [
    gcra({ limit: 100, window: "1m", per: "apiKey" }),
    gcra({ limit: 300, window: "1m", per: "ip" }),
  ],
  key: { apiKey: byHeader("x-api-key"), ip: byIp() },
  cost: (c) => c.req.path.length,
  count: (c, { statusCode }) => c.req.method === "GET" && statusCode < 400,
  onDenied: (c, { retryAfterMs }) => c.json({ path: c.req.path, retryAfterMs }),
});
app.use(limiting);
export const closed: Promise<void> = limiting.close();
void limiting.limiter.reset("somebody");

app.get("/users/:user/files/:file", limiting, (c) => {
  const user: string = c.req.param("user");
  const decision: Decision | undefined = c.var.rateLimit;
  const own: string = c.var.user;
  // @ts-expect-error the path has no such parameter: the types of the path survive the middleware before the handler
  const other: string = c.req.param("other");
  return c.json({ user, own, other, remaining: decision?.remaining, of: limiting.decisionOf(c) });
});

rateLimit({
  limits: gcra({ limit: 1, window: "1m" }),
  key: combineKeys(byIp(), (c) => c.req.path),
});
const tiers = { free: gcra({ limit: 1, window: "1m" }), paid: gcra({ limit: 9, window: "1m" }) };
rateLimit({ limits: byTier(tiers, async (c) => (c.req.path === "/" ? "free" : "paid")) });
rateLimit({ limits: byTier({ ...tiers, staff: null }, () => "staff") }).tiers.get("free");
// @ts-expect-error a tier that does not exist
byTier(tiers, () => "gold");
void rateLimit({
  limits: perRequest(tiers.free, (c) => (c.req.path === "/" ? null : tiers.free)),
}).limiter.reset("ada");
// @ts-expect-error a misspelt dimension
rateLimit({ limits: gcra({ limit: 1, window: "1m", per: "apiKye" }), key: { apiKey: byIp() } });
// @ts-expect-error no such unit
rateLimit({ limits: gcra({ limit: 1, window: "1m" }), wait: "1 sec" });
rateLimit({ limits: gcra({ limit: 1, window: "1m" }), wait: process.env["WAIT"] ?? "1 second" });
// @ts-expect-error another limiter's option
rateLimit({ limits: gcra({ limit: 100, window: "1m" }), keyGenerator: () => "" });

/** A function of one's own that takes limits passes them on. */
export const limitBy = (limits: Limit[] | Policy) =>
  rateLimit({ limits, key: (c) => c.req.header("x-user") });
export const limitByUser = (limits: Limit[]) => rateLimit({ limits, key: { user: byIp() } });
// @ts-expect-error an object is no key
rateLimit({ limits: gcra({ limit: 1, window: "1m" }), key: () => ({ user: 7 }) });
// @ts-expect-error nor is it later
rateLimit({ limits: gcra({ limit: 1, window: "1m" }), key: async () => ({ user: 7 }) });
const perUser = gcra({ limit: 1, window: "1m", per: "user" });
// @ts-expect-error nor is it in one of several dimensions
rateLimit({ limits: perUser, key: { user: () => ({ id: 7 }) } });
