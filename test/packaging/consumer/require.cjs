const consume = require("./consume.cjs");

void consume({
  core: require("@headgate/core"),
  redis: require("@headgate/core/redis"),
  http: require("@headgate/core/http"),
  admin: require("@headgate/core/admin"),
  breaker: require("@headgate/breaker"),
  fetching: require("@headgate/fetch"),
  sdks: { ...require("openai"), ...require("@shopify/admin-api-client") },
  telemetry: require("@headgate/telemetry"),
  // As the documentation of Fastify's plugins has it, and as TypeScript compiles a default import.
  headgate: require("@headgate/fastify"),
  rateLimit: require("@headgate/express").rateLimit,
  express: require("express4"),
  hono: require("@headgate/hono"),
  nestjs: require("@headgate/nestjs"),
}).then(() => {
  const modules = Object.keys(require.cache).filter((file) => /@headgate.*\.js$/.test(file));
  if (modules.length > 0) throw new Error(`require loaded ES modules: ${modules}`);
});
