/** Each framework with its name in tables, and the limiter that Headgate is compared with: set up as its documentation says. */
export const FRAMEWORKS = {
  fastify: { title: "Fastify", peer: "@fastify/rate-limit" },
  express: { title: "Express", peer: "express-rate-limit" },
  hono: { title: "Hono", peer: "hono-rate-limiter" },
  nestjs: { title: "NestJS", peer: "@nestjs/throttler" },
};
