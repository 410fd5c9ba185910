import { byTier, fixedWindow, rateLimit } from "@headgate/express";
import { expect, onTestFinished, test } from "vitest";
import { useLosableRedis } from "../support/losable-redis.ts";
import { describeExpress } from "./describe-express.ts";

const limits = fixedWindow({ limit: 10, window: "1d" });

describeExpress(({ serve }) => {
  const redis = useLosableRedis();
  const closing = <Middleware extends { close(): Promise<void> }>(made: Middleware) => {
    onTestFinished(() => made.close());
    return made;
  };

  test("two limiters with one name share a counter, and count separately during an outage", async () => {
    const store = await redis.openStore();
    const shared = { name: "api", limits, store, storeTimeout: 300, key: () => "one" };
    const { sendRequest } = await serve((app) => {
      app.get("/search", closing(rateLimit(shared)), (req, res) => void res.json(req.rateLimit));
      app.get(
        "/pay",
        closing(rateLimit({ ...shared, onUnavailable: "deny" })),
        (req, res) => void res.json(req.rateLimit),
      );
      app.get(
        "/news",
        closing(rateLimit({ ...shared, onUnavailable: "allow" })),
        (req, res) => void res.json(req.rateLimit),
      );
    });
    for (const [path, remaining] of [
      ["/search", 9],
      ["/pay", 8],
      ["/news", 7],
    ] as const) {
      expect((await sendRequest(path)).json()).toMatchObject({ source: "store", remaining });
    }
    redis.lose();
    expect((await sendRequest("/pay")).status).toBe(503);
    expect((await sendRequest("/search")).json()).toMatchObject({ source: "local", remaining: 9 });
    expect((await sendRequest("/news")).json()).toMatchObject({ source: "allow" });
    await redis.restore();
    // The one that found out was executed when the server answered again.
    expect((await sendRequest("/pay")).json()).toMatchObject({ source: "store", remaining: 5 });
  });

  test("tiers count separately during an outage, each with its local share", async () => {
    const store = await redis.openStore();
    const tiers = { free: fixedWindow({ limit: 4, window: "1d" }), paid: limits };
    const byHeader = byTier(tiers, ({ headers }) => headers["x-tier"] as "free" | "paid");
    const options = { name: "api", limits: byHeader, store, localShare: 0.5, key: () => "one" };
    const { sendRequest } = await serve((app) => {
      app.get("/", closing(rateLimit(options)), (req, res) => void res.json(req.rateLimit));
    });
    const asking = async (tier: string) =>
      (await sendRequest("/", { headers: { "x-tier": tier } })).json();
    redis.lose();
    expect(await asking("free")).toMatchObject({ source: "local", limit: 2, remaining: 1 });
    expect(await asking("paid")).toMatchObject({ source: "local", limit: 5, remaining: 4 });
    expect(await asking("free")).toMatchObject({ remaining: 0 });
    expect(await asking("free")).toMatchObject({ status: 429 });
    expect(await asking("paid")).toMatchObject({ remaining: 3 });
  });
});
