import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { request } from "node:http";
import { json } from "node:stream/consumers";
import { promisify } from "node:util";
import { gcra, rateLimit } from "@headgate/express";
import express from "express";
import { describe, expect, onTestFinished, test } from "vitest";
import { createApp as createExpress } from "../../examples/behind-a-proxy/express.ts";
import { createApp as createFastify } from "../../examples/behind-a-proxy/fastify.ts";
import { blocksOf, page } from "../docs/markdown.ts";
import { watchWarnings } from "../http/support/warnings.ts";
import { hasNginx, startNginx } from "../support/nginx-process.ts";
import { serve } from "../support/serve.ts";

/** The `server` block of the page. */
const SERVER = readFileSync(
  new URL("../../examples/behind-a-proxy/nginx.conf", import.meta.url),
  "utf8",
);

interface Answer {
  readonly status: number | undefined;
  readonly address: string | undefined;
}

/** Sends a request from an address of this machine. */
async function send(
  url: string,
  from: string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const pending = request(url, { localAddress: from, headers, agent: false }).end();
  const [response] = await once(pending, "response");
  const { address } = (await json(response)) as { address?: string };
  return { status: response.statusCode, address };
}

/** Serves an application behind nginx; resolves with nginx's URL. */
async function behindNginx(app: RequestListener, server = SERVER): Promise<string> {
  const { host } = new URL(await serve(app));
  const nginx = await startNginx(server.replace("127.0.0.1:3000", host));
  onTestFinished(() => nginx.stop());
  return `http://127.0.0.1:${nginx.port}/`;
}

const FRAMEWORKS: Readonly<Record<string, (proxies: string[]) => Promise<RequestListener>>> = {
  Express: async (proxies) => createExpress(proxies),
  Fastify: async (proxies) => {
    const app = createFastify(proxies);
    await app.ready();
    return app.routing;
  },
};

/** The commands of the page, for a proxy at a URL, run by a shell as a reader would; what they print. */
async function runCommands(url: string): Promise<string> {
  const [commands = ""] = blocksOf([page("docs/how-to/proxies.md")], "sh").map(({ text }) => text);
  expect(commands).toContain("http://localhost/");
  const lines = commands.trimEnd().replaceAll("http://localhost/", url).split("\n");
  const printed: string[] = [];
  for (const line of lines) {
    const { stdout } = await promisify(execFile)("sh", ["-c", line]);
    printed.push(stdout.trimEnd());
  }
  return printed.join("\n");
}

describe.skipIf(!hasNginx())("behind nginx", () => {
  test.each(Object.entries(FRAMEWORKS))(
    "%s answers the page's commands as the page prints",
    async (_, create) => {
      const url = await behindNginx(await create(["127.0.0.1", "::1"]));
      const [shown] = blocksOf([page("docs/how-to/proxies.md")], "json");
      expect(await runCommands(url)).toBe(shown?.text.trimEnd());
    },
  );

  test.each(Object.entries(FRAMEWORKS))(
    "%s does not believe a client on a trusted address, either",
    async (_, create) => {
      const url = await behindNginx(await create(["127.0.0.1", "::1"]));
      const statuses: (number | undefined)[] = [];
      for (let i = 0; i < 7; i += 1) {
        const forged = { "x-forwarded-for": `198.51.100.${i}` };
        statuses.push((await send(url, "127.0.0.1", forged)).status);
      }
      expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429]);
    },
  );

  test.each(Object.entries(FRAMEWORKS))(
    "%s counts each client by itself, whatever it says of its address",
    async (_, create) => {
      const url = await behindNginx(await create(["127.0.0.1", "::1"]));
      for (let i = 0; i < 5; i += 1) {
        const forged = { "x-forwarded-for": `198.51.100.${i}` };
        const answer = await send(url, "127.0.0.2", forged);
        expect(answer).toEqual({ status: 200, address: "127.0.0.2" });
      }
      expect((await send(url, "127.0.0.2")).status).toBe(429);
      expect((await send(url, "127.0.0.3")).status).toBe(200);
    },
  );

  test("without a trusted proxy, all clients count as the proxy, and a warning says so", async () => {
    const warnings = watchWarnings();
    const url = await behindNginx(createExpress([]));
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, i) => send(url, `127.0.0.${2 + i}`)),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses).toContain(429);
    expect(answers).toContainEqual({ status: 200, address: "127.0.0.1" });
    expect(warnings.map(({ code }) => code)).toContain("HEADGATE_PROXY_NOT_TRUSTED");
  });

  test("when every peer is trusted, a client can forge its address, and a warning says so", async () => {
    const warnings = watchWarnings();
    const adds = SERVER.replace("$remote_addr", "$proxy_add_x_forwarded_for");
    const url = await behindNginx(createExpress(["0.0.0.0/1", "128.0.0.0/1"]), adds);
    for (let i = 0; i < 9; i += 1) {
      const forged = { "x-forwarded-for": `198.51.100.${i}` };
      expect((await send(url, "127.0.0.2", forged)).status).toBe(200);
    }
    expect(warnings.map(({ code }) => code)).toContain("HEADGATE_ALL_PROXIES_TRUSTED");
  });
});

test("Cloudflare's header counts only from a trusted peer", async () => {
  const warnings = watchWarnings();
  const app = express();
  const limits = gcra({ limit: 1, window: "1m" });
  const address = { header: "cf-connecting-ip", trust: ["127.0.0.2"] };
  app.use(rateLimit({ limits, address }));
  app.get("/", (_, res) => {
    res.json({});
  });
  const url = await serve(app);
  const as = (client: string) => ({ "cf-connecting-ip": client });
  expect((await send(url, "127.0.0.2", as("203.0.113.1"))).status).toBe(200);
  expect((await send(url, "127.0.0.2", as("203.0.113.1"))).status).toBe(429);
  expect((await send(url, "127.0.0.2", as("203.0.113.2"))).status).toBe(200);
  expect(warnings.map(({ code }) => code)).toEqual([]);
  expect((await send(url, "127.0.0.3", as("203.0.113.3"))).status).toBe(200);
  expect((await send(url, "127.0.0.3", as("203.0.113.4"))).status).toBe(429);
  await expect
    .poll(() => warnings.map(({ code }) => code))
    .toContain("HEADGATE_ADDRESS_HEADER_IGNORED");
});
