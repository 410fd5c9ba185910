import { METHODS } from "node:http";
import headgate from "@headgate/fastify";
import Fastify from "fastify";
import type { Application, ApplicationOptions } from "./http-run.ts";

export async function serveFastify(options: ApplicationOptions): Promise<Application> {
  // The replay acts as a proxy on loopback, whose X-Forwarded-For is trusted.
  const app = Fastify({ trustProxy: "loopback", routerOptions: { maxParamLength: 100_000 } });

  await app.register(headgate, { ...options, onUnavailable: "deny" });

  for (const method of METHODS) {
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method);
  }
  app.all("*", async () => "ok\n");
  app.setErrorHandler((error, _request, reply) => reply.code(500).send(String(error)));

  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  return { url, close: () => app.close() };
}
