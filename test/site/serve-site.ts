import type { AddressInfo } from "node:net";
import fastifyStatic from "@fastify/static";
import Fastify from "fastify";
import { DIST } from "./build-site.ts";

export interface Served {
  /** `http://127.0.0.1:PORT`. */
  readonly origin: string;
  close(): Promise<void>;
}

/** Serves the site as a static host does: `/reference/limiter` is `reference/limiter.html`. */
export async function serveSite(): Promise<Served> {
  const app = Fastify({ forceCloseConnections: true });
  app.register(fastifyStatic, { root: DIST, extensions: ["html"], maxAge: "1h" });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, close: () => app.close() };
}
