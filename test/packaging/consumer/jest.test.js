const consume = require("./consume.cjs");

test("Headgate can be required by Jest", async () => {
  await consume({
    core: require("@headgate/core"),
    redis: require("@headgate/core/redis"),
    http: require("@headgate/core/http"),
    admin: require("@headgate/core/admin"),
    breaker: require("@headgate/breaker"),
    fetching: require("@headgate/fetch"),
    sdks: { ...require("openai"), ...require("@shopify/admin-api-client") },
    telemetry: require("@headgate/telemetry"),
    headgate: require("@headgate/fastify").default,
    rateLimit: require("@headgate/express").rateLimit,
    express: require("express"),
    hono: require("@headgate/hono"),
    nestjs: require("@headgate/nestjs"),
  });
  // Jest transforms the packages first.
}, 50_000);
