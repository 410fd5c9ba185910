import { rateLimit as headgate } from "@headgate/express";
import express from "express";
import { rateLimit } from "express-rate-limit";
import { RedisStore } from "rate-limit-redis";
import { senderOf } from "../clients.mjs";
import { sendConstants } from "./constants.mjs";
import { headgateOptions, WINDOW_MS } from "./policy.mjs";

/** Middleware of each variant; undefined adds none. */
const MIDDLEWARE = {
  bare: () => undefined,
  constants: ({ constants }) => sendConstants(constants),
  "Headgate, memory": (setup) => headgate(headgateOptions(setup)),
  "Headgate, Redis": (setup) => headgate(headgateOptions(setup)),
  "express-rate-limit, memory": (setup) => rateLimit(peerOptions(setup)),
  "express-rate-limit, Redis": (setup) =>
    rateLimit({
      ...peerOptions(setup),
      store: new RedisStore({
        prefix: `${setup.key}:`,
        sendCommand: senderOf("ioredis", setup.client),
      }),
    }),
};

export const VARIANTS = Object.keys(MIDDLEWARE);

/** With the headers that Headgate sends too: the old ones and those of the draft. */
function peerOptions({ limit }) {
  return { limit, windowMs: WINDOW_MS, legacyHeaders: true, standardHeaders: "draft-8" };
}

/** Resolves with the port. */
export async function serve(setup) {
  const app = express();
  const middleware = MIDDLEWARE[setup.variant](setup);
  if (middleware !== undefined) app.use(middleware);
  app.get("/", (_request, response) => {
    response.json({ hello: "world" });
  });
  return new Promise((resolve) => {
    const server = app.listen(0, "127.0.0.1", () => resolve(server.address().port));
  });
}
