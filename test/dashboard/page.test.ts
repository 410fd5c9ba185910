import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, brotliDecompressSync, gzipSync } from "node:zlib";
import { dashboard as forFastify } from "@headgate/dashboard/fastify";
import Fastify from "fastify";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { useOwnRedis } from "../support/own-redis.ts";
import { createFleet } from "./support/fleet.ts";
import { mounts } from "./support/mounts.ts";
import { api, SAME_ORIGIN, sendRequest } from "./support/send-request.ts";

const PAGE = join(import.meta.dirname, "../../packages/dashboard/page");
const SLASH = join(PAGE, "public/slash.js");

const own = useOwnRedis();

const SCRIPT = "console.log('page');".repeat(50);
const ASSET = "assets/index-1a2b3c.js";

let files: string;

beforeAll(() => {
  files = mkdtempSync(join(tmpdir(), "headgate-page-"));
  mkdirSync(join(files, "assets"));
  writeFileSync(join(files, "index.html"), "<!doctype html><title>page</title>");
  copyFileSync(SLASH, join(files, "slash.js"));
  writeFileSync(join(files, ASSET), SCRIPT);
  writeFileSync(join(files, `${ASSET}.br`), brotliCompressSync(SCRIPT));
  writeFileSync(join(files, `${ASSET}.gz`), gzipSync(SCRIPT));
  writeFileSync(join(files, "..", "headgate-outside.js"), "secret");
});

afterAll(() => {
  rmSync(files, { recursive: true });
  rmSync(join(files, "..", "headgate-outside.js"));
});

const options = () => ({
  store: createFleet(own.client).store,
  authorize: () => ({ by: "eve", actions: "all" as const }),
  files,
});

describe.each(mounts)("the page in $name", ({ mount }) => {
  test("serves its files compressed as the client accepts, cached for a year if their names have a hash", async () => {
    const page = await mount(options());
    const html = await sendRequest(page);
    expect([html.status, html.body.toString()]).toEqual([
      200,
      "<!doctype html><title>page</title>",
    ]);
    expect(html.headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-cache",
    });
    const headers = { "accept-encoding": "gzip, deflate, br" };
    const asset = await sendRequest(`${page}${ASSET}`, { headers });
    expect(asset.headers).toMatchObject({
      "content-type": "text/javascript; charset=utf-8",
      "content-encoding": "br",
      "cache-control": "public, max-age=31536000, immutable",
    });
    expect(asset.headers["vary"]).toContain("Accept-Encoding");
    expect(brotliDecompressSync(asset.body).toString()).toBe(SCRIPT);
    for (const [accepted, encoding] of [
      ["gzip", "gzip"],
      ["br;q=0, gzip", "gzip"],
      ["identity", undefined],
    ] as const) {
      const one = await sendRequest(`${page}${ASSET}`, {
        headers: { "accept-encoding": accepted },
      });
      expect(one.headers["content-encoding"]).toBe(encoding);
    }
    const known = { "if-none-match": String(html.headers["etag"]) };
    const again = await sendRequest(page, { headers: known });
    expect([again.status, again.body.length]).toEqual([304, 0]);
    const head = await sendRequest(page, { method: "HEAD" });
    expect([head.status, head.body.length, head.headers["content-length"]]).toEqual([
      200,
      0,
      String(html.body.length),
    ]);
  });

  test("is served without the trailing slash, which the page adds in the browser", async () => {
    const page = await mount(options());
    const bare = page.slice(0, -1);
    for (const url of [bare, `${bare}?a=1`, `${page}?a=1`]) {
      const { status, body } = await sendRequest(url);
      expect([url, status, body.toString()]).toEqual([
        url,
        200,
        "<!doctype html><title>page</title>",
      ]);
    }
    expect((await sendRequest(`${bare}/api/session`)).status).toBe(200);
  });

  test("sends the security headers with every response", async () => {
    const page = await mount(options());
    const paths = ["", ASSET, "assets/none.js", "none", "api/session", "api/none", "api/limiter"];
    const answers = await Promise.all([
      ...paths.map((path) => sendRequest(`${page}${path}`)),
      sendRequest(page.slice(0, -1)),
      sendRequest(page, { method: "POST" }),
      sendRequest(`${page}api/act`, {
        method: "POST",
        headers: { "sec-fetch-site": "cross-site" },
      }),
    ]);
    for (const { headers } of answers) {
      expect(headers).toMatchObject({
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "content-security-policy":
          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      });
    }
  });

  test("serves no other file", async () => {
    const page = await mount(options());
    for (const path of [
      "../headgate-outside.js",
      "assets/../../headgate-outside.js",
      "assets/..%2f..%2fheadgate-outside.js",
      "assets/%2e%2e/%2e%2e/headgate-outside.js",
      "assets/..%5c..%5cheadgate-outside.js",
      "assets//etc/passwd",
      `${ASSET}%00.html`,
      `${ASSET}.br`,
      "assets/__proto__",
      "assets/constructor",
      "assets/",
      "assets",
      "api/__proto__",
      "api/constructor",
      "api/",
      "api",
      "%",
      "assets/%zz",
    ]) {
      const url = new URL(page);
      const raw = `${url.origin}${url.pathname}${path}`;
      const { status, body } = await sendRequest(raw);
      // Outside of its path, the dashboard in node:http leaves requests to others.
      expect([path, [400, 404, 418].includes(status)]).toEqual([path, true]);
      expect(body.toString()).not.toContain("secret");
    }
  });

  test.each([false, true])(
    "accepts bodies of 64 KB and refuses longer ones; already parsed by the application: %s",
    async (parsesBodies) => {
      const page = await mount({ ...options(), parsesBodies });
      const sized = (length: number) => {
        const body = { subject: "x", kind: "text", limiter: "" };
        return { ...body, limiter: "l".repeat(length - JSON.stringify(body).length) };
      };
      expect((await api(page, "subject", sized(65_536))).status).toBe(404);
      for (const length of [65_537, 1_048_576]) {
        const { status, json } = await api(page, "subject", sized(length));
        expect([status, json.error.code]).toEqual([413, "TOO_LONG"]);
      }
      for (const body of ["", "{", "[]", "null", '"x"', Buffer.from([0x7b, 0xff, 0x7d])]) {
        const { status } = await sendRequest(`${page}api/subject`, {
          method: "POST",
          headers: SAME_ORIGIN,
          body,
        });
        expect(status).toBe(400);
      }
    },
  );
});

test("the Fastify plugin leaves the application's body parsers unchanged", async () => {
  const app = Fastify({ bodyLimit: 100 });
  onTestFinished(() => app.close());
  app.post("/echo", async (request) => request.body);
  await app.register(forFastify, { prefix: "/limits", ...options() });
  const page = `${await app.listen({ port: 0, host: "127.0.0.1" })}/limits/`;
  const json = { "content-type": "application/json" };
  const echo = new URL("/echo", page).href;
  const short = await sendRequest(echo, { method: "POST", headers: json, body: '{"a":1}' });
  expect(short.json).toEqual({ a: 1 });
  const form = await sendRequest(echo, {
    method: "POST",
    headers: { "content-type": "text/x" },
    body: "x",
  });
  expect(form.status).toBe(415);
  const subject = "x".repeat(200);
  expect((await api(page, "subject", { subject, kind: "text" })).status).toBe(200);
});

test("the page has no inline script, and loads slash.js from its own URL, with or without a trailing slash", async () => {
  expect(readFileSync(join(PAGE, "index.html"), "utf8")).not.toMatch(
    /<script[^>]*>[^<]|\son\w+=|<style/,
  );
  const script = readFileSync(SLASH, "utf8");
  for (const { mount } of mounts) {
    const page = await mount(options());
    for (const url of [`${page}?slash`, `${page.slice(0, -1)}?slash`, `${page}index.html?slash`]) {
      const { status, headers, body } = await sendRequest(url);
      expect([status, body.toString()]).toEqual([200, script]);
      expect(headers).toMatchObject({ "content-type": "text/javascript; charset=utf-8" });
    }
    expect((await sendRequest(`${page}?slash`, { method: "POST" })).status).toBe(405);
  }
});

test("a dashboard without its page files says so, and its API still works", async () => {
  const empty = mkdtempSync(join(tmpdir(), "headgate-no-page-"));
  onTestFinished(() => rmSync(empty, { recursive: true }));
  // Not every name that ends like a file is one.
  mkdirSync(join(empty, "folder.js"));
  for (const { mount } of mounts) {
    for (const files of [empty, join(empty, "none")]) {
      const page = await mount({ ...options(), files });
      const { status, body } = await sendRequest(page);
      expect([status, body.toString()]).toEqual([503, expect.stringContaining("option `files`")]);
    }
    const page = await mount({ ...options(), files: empty });
    expect((await api(page, "session")).status).toBe(200);
  }
});
