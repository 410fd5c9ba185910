import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { DashboardOptions } from "@headgate/dashboard";
import { dashboard } from "@headgate/dashboard";
import { dashboard as forExpress } from "@headgate/dashboard/express";
import { dashboard as forFastify } from "@headgate/dashboard/fastify";
import type { Express } from "express";
import express from "express";
import express4 from "express4";
import Fastify from "fastify";
import { onTestFinished } from "vitest";
import { serve } from "../../support/serve.ts";

/** Options with an `authorize` that works in every framework, because it only reads headers. */
export interface MountOptions extends Omit<DashboardOptions, "authorize"> {
  readonly authorize: (
    request: Pick<IncomingMessage, "headers">,
    response: object,
  ) => ReturnType<DashboardOptions["authorize"]>;
  /** Whether the application parses bodies before the dashboard. */
  readonly parsesBodies?: boolean;
}

/** A way to mount a dashboard at `/ops/limits`; resolves with the URL of its page. */
export interface Mount {
  readonly name: string;
  mount(options: MountOptions): Promise<string>;
}

const PATH = "/ops/limits";

const node: Mount = {
  name: "node:http",
  async mount({ parsesBodies: _, ...options }) {
    const handle = dashboard({ ...options, path: PATH });
    const next = (response: ServerResponse) => () => response.writeHead(418).end();
    const url = await serve(
      createServer((request, response) => handle(request, response, next(response))),
    );
    return `${url}${PATH}/`;
  },
};

function expressMount(name: string, makeApp: () => Express): Mount {
  return {
    name,
    async mount({ parsesBodies, ...options }) {
      const app = makeApp();
      if (parsesBodies === true) app.use(express.json({ limit: "10mb" }));
      const router = express.Router();
      // Nested as an application in an application.
      const inner = makeApp();
      inner.use("/limits", forExpress(options));
      router.use("/ops", inner);
      app.use(router);
      return `${await serve(app)}${PATH}/`;
    },
  };
}

const fastify: Mount = {
  name: "Fastify",
  async mount({ parsesBodies, ...options }) {
    const app = Fastify();
    onTestFinished(() => app.close());
    if (parsesBodies === true) app.post("/echo", async (request) => request.body ?? null);
    await app.register(
      async (scope) => {
        await scope.register(forFastify, { prefix: "/limits", ...options });
      },
      { prefix: "/ops" },
    );
    return `${await app.listen({ port: 0, host: "127.0.0.1" })}${PATH}/`;
  },
};

export const nodeMount: Mount = node;

export const mounts: readonly Mount[] = [
  node,
  expressMount("Express 4", express4),
  expressMount("Express 5", express),
  fastify,
];
