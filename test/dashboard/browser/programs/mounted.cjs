// The same as mounted.mjs, in CommonJS.
const { redisStore } = require("@headgate/core/redis");
const { dashboard: forExpress } = require("@headgate/dashboard/express");
const { dashboard: forFastify } = require("@headgate/dashboard/fastify");
const express = require("express");
const { fastify } = require("fastify");
const helmet = require("helmet");
const { Redis } = require("ioredis");

const [socket] = process.argv.slice(2);
const options = {
  store: redisStore(new Redis(socket), { prefix: "fleet" }),
  authorize: () => ({ by: "eve", actions: "all" }),
};

const onExpress = express();
const [outer, inner] = [express.Router(), express.Router()];
inner.use("/limits", forExpress(options));
outer.use("/ops", inner);
onExpress.use(helmet(), outer);
const listening = onExpress.listen(0, "127.0.0.1", () => void start());

async function start() {
  const onFastify = fastify();
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
