import type { FastifyPluginAsync } from "fastify";
import fastifyPlugin from "fastify-plugin";
import type { HeadgateOptions } from "./options.ts";
import { headgatePlugin } from "./plugin.ts";

/**
 * The plugin: `app.register(headgate, { limits: gcra({ limit: 100, window: "1m" }) })`. Registration rejects with
 * `HEADGATE_INVALID_OPTION`, `HEADGATE_INVALID_LIMIT`, `HEADGATE_DUPLICATE_NAME`.
 */
export const headgate: FastifyPluginAsync<HeadgateOptions> = fastifyPlugin(headgatePlugin, {
  name: "@headgate/fastify",
  fastify: "5.x || 6.x",
});
