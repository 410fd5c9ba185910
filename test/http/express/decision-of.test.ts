import { createLimiter, fixedWindow, slidingLog } from "@headgate/core";
import { byTier, rateLimit } from "@headgate/express";
import type { ErrorRequestHandler, Request, RequestHandler } from "express";
import { expect, test } from "vitest";
import { describeExpress } from "./describe-express.ts";

const wide = fixedWindow({ limit: 100, window: "1h", name: "wide" });
const narrow = fixedWindow({ limit: 3, window: "1h", name: "narrow" });

const user = (req: Request) => req.get("x-user");

describeExpress(({ serve }) => {
  test("counting only failures works behind another limiter, because each has its own decision", async () => {
    const all = rateLimit({ limits: fixedWindow({ limit: 1, window: "1s", name: "all" }) });
    const failures = rateLimit({ limits: narrow, key: user });
    const { sendRequest } = await serve((app) => {
      app.use(rateLimit({ limits: wide }));
      app.post("/login", failures, async (req, res) => {
        expect(all.decisionOf(req)).toBeUndefined();
        if (req.get("x-password") === "right") await failures.decisionOf(req)?.refund();
        res.json({ left: failures.decisionOf(req)?.decision.remaining });
      });
    });
    const login = (password: string) =>
      sendRequest("/login", {
        method: "POST",
        headers: { "x-user": "ann", "x-password": password },
      });
    for (let i = 0; i < 9; i += 1) expect((await login("right")).json()).toEqual({ left: 2 });
    for (const left of [2, 1, 0]) expect((await login("wrong")).json()).toEqual({ left });
    expect((await login("right")).status).toBe(429);
  });

  test("the subject of a limiter's decision can be reset with it, whatever limiters were called later", async () => {
    const login = rateLimit({ limits: narrow, key: user });
    const { sendRequest } = await serve((app) => {
      app.use(login, rateLimit({ limits: wide }), async (req, res) => {
        const { subject, limiter } = login.decisionOf(req) ?? {};
        expect(limiter).toBe(login.limiter);
        res.json({ subject, reset: await login.limiter.reset(subject ?? "") });
      });
    });
    expect((await sendRequest("/", { headers: { "x-user": "ann" } })).json()).toEqual({
      subject: { default: "ann" },
      reset: true,
    });
  });

  test("decisionOf returns the denial inside onDenied", async () => {
    const limit = rateLimit({
      limits: fixedWindow({ limit: 1, window: "1h" }),
      onDenied: (req, res) => {
        res.json({
          own: limit.decisionOf(req)?.decision.allowed,
          subject: limit.decisionOf(req)?.subject,
        });
      },
    });
    const { sendRequest } = await serve((app) => app.use(limit, (_req, res) => res.end("ok")));
    await sendRequest();
    expect((await sendRequest()).json()).toEqual({ own: false, subject: { default: "127.0.0.1" } });
  });

  test("decisionOf is undefined for a request that was skipped or has no key", async () => {
    const skipped = rateLimit({ limits: narrow, skip: () => true });
    const keyless = rateLimit({ limits: narrow, key: user, missingKey: "skip" });
    const { sendRequest } = await serve((app) => {
      app.use(skipped as RequestHandler, keyless as RequestHandler, (req, res) => {
        res.json([skipped.decisionOf(req) === undefined, keyless.decisionOf(req) === undefined]);
      });
    });
    expect((await sendRequest()).json()).toEqual([true, true]);
  });

  test("with tiers, decisionOf returns the decision of the request's tier", async () => {
    const plans = rateLimit({
      limits: byTier({ free: narrow, premium: wide }, (req) =>
        user(req) === "ann" ? "premium" : "free",
      ),
    });
    const { sendRequest } = await serve((app) => {
      app.use(plans, (req, res) => {
        const limiter = plans.decisionOf(req)?.limiter;
        res.json([...plans.tiers].find(([, one]) => one === limiter)?.[0]);
      });
    });
    expect((await sendRequest("/", { headers: { "x-user": "ann" } })).json()).toBe("premium");
    expect((await sendRequest()).json()).toBe("free");
  });

  test("decisionOf returns the same decision for the same limiter elsewhere, and refunds it once", async () => {
    const limiter = createLimiter({ limits: slidingLog({ limit: 3, window: "1h" }) });
    const [first, second] = [rateLimit({ limiter }), rateLimit({ limiter })];
    const { sendRequest } = await serve((app) => {
      app.use(first, second, async (req, res) => {
        expect(second.decisionOf(req)?.decision).toBe(first.decisionOf(req)?.decision);
        res.json([await second.decisionOf(req)?.refund(), await first.decisionOf(req)?.refund()]);
      });
    });
    expect((await sendRequest()).json()).toEqual([true, false]);
    expect((await limiter.peek("127.0.0.1", { cost: 3 })).allowed).toBe(true);
  });

  test("settle changes the cost in every dimension that was charged, and only once", async () => {
    const limiter = createLimiter({
      limits: [wide, fixedWindow({ limit: 100, window: "1h", per: "user" })],
    });
    const byUser = { limiter, key: { user }, missingKey: "skip" } as const;
    const early = rateLimit({ ...byUser, cost: 10 });
    const { sendRequest } = await serve((app) => {
      app.use(early, (req, _res, next) => {
        req.headers["x-user"] = "ann";
        next();
      });
      app.use(rateLimit({ ...byUser, cost: 10 }), async (req, res) => {
        const own = early.decisionOf(req);
        res.json([await own?.settle(Number(req.get("x-tokens"))), await own?.settle(0)]);
      });
    });
    const left = async () => {
      const { limits } = await limiter.peek({ default: "127.0.0.1", user: "ann" }, { cost: 0 });
      return limits.map(({ remaining, overdrawn }) => remaining - overdrawn);
    };
    const settled = (charged: number) => ({ charged, overflow: 0, degraded: false });
    const use = async (tokens: number) =>
      (await sendRequest("/", { headers: { "x-tokens": `${tokens}` } })).json();
    expect(await use(3)).toEqual([settled(3), settled(0)]);
    expect(await left()).toEqual([97, 97]);
    expect(await use(120)).toEqual([settled(120), settled(0)]);
    expect(await left()).toEqual([-23, -23]);
    expect((await sendRequest("/", { headers: { "x-tokens": "1" } })).status).toBe(429);
  });

  test("settle rejects an invalid number", async () => {
    const limit = rateLimit({ limits: wide });
    const { sendRequest } = await serve((app) => {
      app.use(limit, async (req, res) => {
        res.json(
          await limit
            .decisionOf(req)
            ?.settle(1.5)
            .catch(({ code }) => code),
        );
      });
    });
    expect((await sendRequest()).json()).toBe("HEADGATE_INVALID_COST");
  });

  test("a cost that comes after the limiter was called is an error", async () => {
    const limiter = createLimiter({ limits: wide });
    const { sendRequest } = await serve((app) => {
      app.use(rateLimit({ limiter }));
      app.get("/report", rateLimit({ limiter, cost: 5 }), (_req, res) => res.end("report"));
      app.get("/", (_req, res) => res.end("ok"));
      const onError: ErrorRequestHandler = (error, _req, res, _next) => {
        res.status(500).json(error.code);
      };
      app.use(onError);
    });
    expect((await sendRequest("/")).status).toBe(200);
    const refused = await sendRequest("/report");
    expect([refused.status, refused.json()]).toEqual([500, "HEADGATE_INVALID_OPTION"]);
  });
});
