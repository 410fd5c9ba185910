// A login that is guarded against guessing, behind Fastify: README.md says how.
//
//   npx -y pnpm@10.34.9 build
//   node examples/login-protection/fastify.mjs        (with REDIS_URL=redis://... all processes count together)
//   curl -i http://localhost:3000/login -H "content-type: application/json" -d '{"email":"ada@example.org","password":"?"}'

import headgate from "@headgate/fastify";
import Fastify from "fastify";
import { account, isRight, protection, welcome } from "./protection.mjs";

// The addresses of your own proxies: they may say whose request it is.
const app = Fastify({ trustProxy: "loopback" });

// The account is known once the body has been read.
await app.register(headgate, { ...protection, hook: "preHandler" });

app.post("/login", async (request, reply) => {
  if (!isRight(request)) return reply.code(401).send({ error: "wrong address or password" });
  reply.header("set-cookie", await welcome(request, app.headgate.of(request)));
  return { welcome: account(request) };
});

console.log(`listening on ${await app.listen({ port: Number(process.env["PORT"] ?? 3000) })}`);
