// An application that is an ES module, with the dashboard in an Express router behind helmet, and below a Fastify prefix.
// Prints the URLs of both pages.
//
//   node mounted.mjs REDIS_SOCKET [FILES]
import { redisStore } from "@headgate/core/redis";
import { dashboard as forExpress } from "@headgate/dashboard/express";
import { dashboard as forFastify } from "@headgate/dashboard/fastify";
import express from "express";
import Fastify from "fastify";
import helmet from "helmet";
import { Redis } from "ioredis";

const [socket, files] = process.argv.slice(2);
const options = {
  store: redisStore(new Redis(socket), { prefix: "fleet" }),
  authorize: () => ({ by: "eve", actions: "all" }),
  files,
};

const onExpress = express();
const [outer, inner] = [express.Router(), express.Router()];
inner.use("/limits", forExpress(options));
outer.use("/ops", inner);
onExpress.use(helmet(), outer);
const listening = onExpress.listen(0, "127.0.0.1", () => void start());

async function start() {
  const onFastify = Fastify();
  onFastify.register(
    async (scope) => {
      scope.register(forFastify, { prefix: "/limits", ...options });
    },
    { prefix: "/ops" },
  );
  const origins = [
    `http://127.0.0.1:${listening.address().port}`,
    await onFastify.listen({ port: 0, host: "127.0.0.1" }),
  ];
  console.log(JSON.stringify(origins.map((origin) => `${origin}/ops/limits/`)));
}
