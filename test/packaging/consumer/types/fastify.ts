import type { Limit, Policy } from "@headgate/core";
import { readPolicy } from "@headgate/core";
import type { Decision } from "@headgate/fastify";
import headgate, {
  byHeader,
  byIp,
  byTier,
  defineRateLimit,
  gcra,
  perRequest,
} from "@headgate/fastify";
import Fastify from "fastify";

const app = Fastify();
app.register(headgate, {
  limits: [
    gcra({ limit: 100, window: "1m", per: "apiKey" }),
    gcra({ limit: 300, window: "1m", per: "ip" }),
  ],
  key: { apiKey: byHeader("x-api-key"), ip: byIp() },
  cost: (request) => request.url.length,
  onDenied: (request, reply, { retryAfterMs }) => reply.send({ url: request.url, retryAfterMs }),
});
const key = { apiKey: byHeader("x-api-key") };
const limits = gcra({ limit: 100, window: "1m", per: "apiKey" });
app.register(headgate, defineRateLimit({ limits, key }));
// @ts-expect-error a misspelt dimension
defineRateLimit({ limits: gcra({ limit: 100, window: "1m", per: "apiKye" }), key });
app.register(headgate, {
  limits: byTier(
    { free: gcra({ limit: 100, window: "1m" }), premium: gcra({ limit: 1000, window: "1m" }) },
    (request) => (request.routeOptions.url === "/premium" ? "premium" : "free"),
  ),
});
app.register(headgate, { limits: readPolicy({}) });
app.register(headgate, { limits: readPolicy({}), key: { tenant: byHeader("x-tenant") } });
const tiers = { free: gcra({ limit: 1, window: "1m" }), paid: readPolicy({}) };
app.register(headgate, {
  limits: byTier(tiers, async (request) => (request.url === "/" ? "free" : "paid")),
});
app.register(headgate, {
  limits: byTier(tiers, (request) => request.headers["x-plan"] as "free" | "paid"),
});
app.register(headgate, {
  limits: byTier(tiers as Record<string, typeof tiers.paid>, (request) => request.url),
});
app.register(headgate, {
  limits: perRequest(tiers.free, async (request) =>
    request.routeOptions.url === "/free" ? null : gcra({ limit: 5, window: "1m" }),
  ),
});
app.register(headgate, { limits: byTier({ ...tiers, staff: null }, () => "staff") });
// @ts-expect-error nothing is neither limits nor null
perRequest(tiers.free, () => undefined);
// @ts-expect-error a tier that does not exist
byTier(tiers, () => "gold");
// @ts-expect-error a tier that may not exist
byTier(tiers, (request) => request.url);
defineRateLimit({
  limits: gcra({ limit: 1, window: process.env["WINDOW"] ?? "1 minute", per: "account" }),
  key: { account: () => "ada" },
  resetDimensions: ["account"],
  wait: process.env["WAIT"] ?? "1s",
});
// @ts-expect-error no such unit
defineRateLimit({ limits: gcra({ limit: 1, window: "1 minute" }), storeTimeout: "1 sec" });
// @ts-expect-error another limiter's option
app.register(headgate, { limits: gcra({ limit: 100, window: "1m" }), timeWindow: 5 });

app.get<{ Params: { user: string } }>(
  "/users/:user",
  { config: { rateLimit: { limits: gcra({ limit: 10, window: "1m" }) } } },
  async (request) => {
    const user: string = request.params.user;
    const decision: Decision | null = request.rateLimit;
    // @ts-expect-error the route has no such parameter
    const other: string = request.params.other;
    return { user, other, remaining: decision?.remaining };
  },
);
app.get("/report", { config: { rateLimit: { cost: 5 } } }, async () => "");
app.get("/health", { config: { rateLimit: false } }, async () => "");
// @ts-expect-error an option of a route of another type
app.get("/typo", { config: { rateLimit: { cost: "5" } } }, async () => "");
app.get(
  "/export",
  { preHandler: app.rateLimit({ name: "export", limits: gcra({ limit: 1, window: "1m" }) }) },
  async () => "",
);
app.get("/reset-client", async (request): Promise<boolean> => app.headgate.resetClient(request));
app.get("/admin", { onRequest: [app.rateLimit()] }, async () =>
  app.headgate.limiter.reset("somebody"),
);

const http2 = Fastify({ http2: true });
http2.register(headgate, { limits: gcra({ limit: 100, window: "1m" }) });
http2.get("/", { preHandler: http2.rateLimit() }, async (request) => request.rateLimit?.remaining);

/** A function of one's own that takes limits passes them on. */
export const limitBy = (own: Limit[] | Policy) =>
  app.register(headgate, { limits: own, key: (request) => request.headers["x-user"] as string });
export const limitByUser = (own: Limit[]) =>
  app.register(headgate, defineRateLimit({ limits: own, key: { user: byIp() } }));
// @ts-expect-error an object is no key
app.register(headgate, { limits: gcra({ limit: 1, window: "1m" }), key: () => ({ user: 7 }) });
