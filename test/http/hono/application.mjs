// An application of Hono on Bun, on Deno or on Node: it is served by what runs it.
import { concurrency, fixedWindow, perRequest, rateLimit } from "@headgate/hono";
import { Hono } from "hono";
import { timeout } from "hono/timeout";

const once = fixedWindow({ limit: 1, window: "1h" });
const twice = fixedWindow({ limit: 2, window: "1h" });
const slots = rateLimit({ limits: concurrency({ limit: 1, ttl: "30s" }) });
const turns = rateLimit({ limits: fixedWindow({ limit: 1, window: "1s" }), wait: "20s" });
const key = () => "everybody";
const four = rateLimit({ limits: concurrency({ limit: 4, ttl: "30s" }), key });
const short = rateLimit({ limits: concurrency({ limit: 4, ttl: "500ms" }), key });
const guesses = rateLimit({
  limits: fixedWindow({ limit: 2, window: "1h", block: "1h" }),
  count: "failed",
  key,
});
const own = concurrency({ limit: 1, ttl: "30s" });

/** What ends the answers that are under way. */
const endings = [];

const app = new Hono();
app.get("/plain", rateLimit({ limits: twice }), (c) => c.json(c.var.rateLimit));
app.get("/failed", rateLimit({ limits: once, count: "failed" }), (c) =>
  c.text("answer", Number(c.req.query("status"))),
);
app.get("/own", rateLimit({ limits: once, onDenied: (c) => c.text("no") }), (c) => c.text("yes"));
app.get("/allow", rateLimit({ limits: once, onDenied: () => "allow" }), (c) => c.text("yes"));
app.get("/turns", turns, (c) => c.text("yes"));
app.get("/slow", slots, (c) =>
  c.body(
    new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode("begun "));
        endings.push(() => {
          controller.enqueue(new TextEncoder().encode("ended"));
          controller.close();
        });
      },
    }),
  ),
);
app.get("/left", async (c) => {
  const left = async ({ limiter }) => (await limiter.peek("everybody", { cost: 0 })).remaining;
  const { blocked } = await guesses.limiter.peek("everybody");
  return c.json({ four: await left(four), short: await left(short), blocked });
});
app.get("/text", four, (c) => c.text("hello"));
app.get("/nothing", four, (c) => c.body(null, 204));
app.use("/dropped", async (c, next) => {
  await next();
  c.res = new Response(null, { status: 304 });
});
app.get("/dropped", four, (c) => c.text("hello"));
app.use("/replaced", async (c, next) => {
  await next();
  c.res = new Response("another", { status: 404 });
});
app.get("/replaced", four, (c) => c.text("hello"));
app.use("/thrown", async (_, next) => {
  await next();
  throw new Error("not saved");
});
app.get("/thrown", four, (c) => c.text("hello"));
app.use("/late", timeout(20));
app.get("/late", four, async (c) => {
  await new Promise((resolve) => setTimeout(resolve, 50));
  return c.text("hello");
});
app.get("/guess-right", rateLimit({ limits: twice, count: "failed" }), (c) => c.text("right"));
app.get("/guess", guesses, (c) => c.text("wrong", 401));
app.get("/of-request", rateLimit({ limits: perRequest(twice, () => own), key }), (c) =>
  c.text("hello"),
);
app.get("/endless", short, (c) => {
  const chunk = new Uint8Array(65_536);
  return c.body(new ReadableStream({ pull: (controller) => controller.enqueue(chunk) }));
});
app.onError((error, c) => error.getResponse?.() ?? c.text("failed", 500));
app.get("/end", (c) => {
  for (const end of endings.splice(0)) end();
  return c.text("ended");
});

const listening = ({ port }) => console.log(`listening on http://127.0.0.1:${port}`);
const place = { hostname: "127.0.0.1", port: 0 };
if ("Deno" in globalThis) Deno.serve({ ...place, onListen: listening }, app.fetch);
else if ("Bun" in globalThis) listening(Bun.serve({ ...place, fetch: app.fetch }));
else {
  const { serve } = await import("@hono/node-server");
  serve({ ...place, fetch: app.fetch }, listening);
}
