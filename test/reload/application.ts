import { redisStore } from "@headgate/core/redis";
import headgate, { fixedWindow } from "@headgate/fastify";
import Fastify from "fastify";
import { kept, source } from "./source.ts";

await kept.keptApp?.close();

export const app = Fastify();
kept.keptApp = app;

app.register(headgate, {
  name: "reloaded plugin",
  limits: fixedWindow({ limit: source.limit, window: "1h" }),
  store: redisStore(kept.keptRedis),
  storeTimeout: "30s",
});
app.get("/", async (request) => request.rateLimit);
