// A Fastify server with one of the contenders in front of handlers that use the processor.
import underPressure from "@fastify/under-pressure";
import { loadShedder } from "@headgate/shed";
import Fastify from "fastify";
import toobusy from "toobusy-js";
import { answer, readSetup } from "../other-process.mjs";

/** Each as its documentation shows it. */
const CONTENDERS = {
  none() {},
  "under-pressure"(app) {
    app.register(underPressure, {
      maxEventLoopDelay: 1_000,
      maxEventLoopUtilization: 0.98,
      message: "Under pressure!",
      retryAfter: 50,
    });
  },
  "toobusy-js"(app) {
    // It begins to measure with the first call.
    toobusy();
    app.addHook("onRequest", (_request, reply, done) => {
      if (toobusy()) reply.code(503).send("I'm busy right now, sorry.");
      else done();
    });
  },
  Headgate(app) {
    app.register(loadShedder().fastify);
  },
};

const { contender, pauseMs } = readSetup();
const app = Fastify();
CONTENDERS[contender](app);
app.get("/", (request) => {
  spin(Number(request.query.ms));
  return "ok";
});
await app.listen({ port: 0, host: "127.0.0.1" });
if (pauseMs > 0) setInterval(spin, 1_000, pauseMs);

function spin(ms) {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

answer({
  port: () => app.server.address().port,
});
