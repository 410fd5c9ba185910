// An application of Hono on Bun, on Deno or on Node: it is served by what runs it.
import { concurrency, fixedWindow, rateLimit } from "@headgate/hono";
import { Hono } from "hono";

const once = fixedWindow({ limit: 1, window: "1h" });
const twice = fixedWindow({ limit: 2, window: "1h" });
const slots = rateLimit({ limits: concurrency({ limit: 1, ttl: "30s" }) });
const turns = rateLimit({ limits: fixedWindow({ limit: 1, window: "1s" }), wait: "20s" });

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
