// A server that gets more requests than it can handle: those that wait too long are shed, and the health check always passes.
//
//   npx -y pnpm@10.34.9 build
//   node examples/shed-load/server.mjs
//   seq 300 | xargs -P 100 -I{} curl -so /dev/null -w '%{http_code}\n' http://localhost:3000/work | sort | uniq -c
//   curl -i http://localhost:3000/health             meanwhile, in another shell
//   curl -i http://localhost:3000/work               afterwards: RateLimit has nothing of the requests that were shed

import { subscribe } from "node:diagnostics_channel";
import { fixedWindow, rateLimit } from "@headgate/express";
import { loadShedder, SHED_CHANNELS } from "@headgate/shed";
import express from "express";

const app = express();

const shed = loadShedder({
  maxWait: "200ms",
  priority: (req) => (req.url === "/health" ? "critical" : "default"),
});

subscribe(SHED_CHANNELS.load, (message) => {
  const { before, state, waiting, longestWaitMs } =
    /** @type {import("@headgate/shed").LoadStatus} */ (message);
  if (state !== before) console.log(`${state}: ${waiting} wait, the longest ${longestWaitMs} ms`);
});

// First: what it sheds is charged nothing.
app.use(shed);
app.use(rateLimit({ limits: fixedWindow({ limit: 1_000, window: "1h" }) }));

app.get("/health", (_req, res) => {
  res.send("ok");
});

app.get("/work", (_req, res) => {
  // 20 ms of the processor: 50 requests a second are all that this process can handle.
  const until = performance.now() + 20;
  while (performance.now() < until);
  res.send("done");
});

const server = app.listen(Number(process.env["PORT"] ?? 3000), () => {
  const address = server.address();
  if (address !== null && typeof address === "object") {
    console.log(`listening on http://localhost:${address.port}`);
  }
});
