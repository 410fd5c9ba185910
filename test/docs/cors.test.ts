import type { Express } from "express";
import type { FastifyInstance } from "fastify";
import type { Hono } from "hono";
import { expect, onTestFinished, test } from "vitest";
import { blocksOf, page, section } from "./markdown.ts";
import { load } from "./moving/programs.ts";

const HEADING = "Browsers: CORS";
const it = page("docs/how-to/public-api.md");
const inSection = section(it, HEADING);
const samples = blocksOf([it], "ts").filter(({ text }) => inSection.includes(text));

const ORIGIN = "https://app.example.com";

type Send = (method: string, headers: Record<string, string>) => Promise<Response>;

/** Listens on a free port until the test ends. */
async function overHttp(app: Express | FastifyInstance): Promise<Send> {
  const port = await new Promise<number>((resolve) => {
    if ("inject" in app) {
      onTestFinished(() => app.close());
      void app.listen({ port: 0 }).then((url) => resolve(Number(new URL(url).port)));
      return;
    }
    const server = app.listen(0, () => resolve((server.address() as { port: number }).port));
    onTestFinished(() => void server.close());
  });
  return (method, headers) => fetch(`http://localhost:${port}/`, { method, headers });
}

async function start(program: string): Promise<Send> {
  const { app } = await load(program.replace("export default app;", ""), ["app"]);
  if (!program.includes("@headgate/hono")) return overHttp(app as Express | FastifyInstance);
  const incoming = { socket: { remoteAddress: "203.0.113.7" }, headers: {} };
  return async (method, headers) =>
    (app as Hono).request("/", { method, headers }, { incoming: { ...incoming, headers } });
}

test("the page has a sample of CORS for Express, Fastify and Hono", () => {
  const packages = samples.map(({ text }) => /@headgate\/\w+/.exec(text)?.[0]);
  expect(packages).toEqual(["@headgate/express", "@headgate/fastify", "@headgate/hono"]);
});

test.each(samples)(
  "in the sample of $location, preflights are not counted, and a script can read a denial and all its headers",
  async ({ text }) => {
    const send = await start(text);
    const preflight = { origin: ORIGIN, "access-control-request-method": "GET" };
    for (let i = 0; i < 7; i += 1) {
      const { status, headers } = await send("OPTIONS", preflight);
      expect([status, headers.get("access-control-allow-origin")]).toEqual([204, ORIGIN]);
    }
    const answers: Response[] = [];
    for (let i = 0; i < 6; i += 1) answers.push(await send("GET", { origin: ORIGIN }));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429]);
    for (const { headers } of answers) {
      expect(headers.get("access-control-allow-origin")).toBe(ORIGIN);
      const exposed = headers.get("access-control-expose-headers")?.toLowerCase().split(/, ?/);
      const ours = [...headers.keys()].filter((name) => /ratelimit|retry-after/.test(name));
      expect(ours.length).toBeGreaterThanOrEqual(5);
      expect(exposed).toEqual(expect.arrayContaining(ours));
    }
  },
);
