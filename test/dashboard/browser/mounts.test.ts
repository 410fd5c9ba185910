import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dashboard } from "@headgate/dashboard";
import { build } from "esbuild";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { hasChromium, startChromium } from "../../support/chromium.ts";
import { hasNginx, startNginx } from "../../support/nginx-process.ts";
import { useOwnRedis } from "../../support/own-redis.ts";
import { serve } from "../../support/serve.ts";
import { mounts } from "../support/mounts.ts";
import { seedDenied } from "../support/seed-denied.ts";
import { sendRequest } from "../support/send-request.ts";
import { runProgram } from "./programs/run-program.ts";

const PROGRAMS = join(import.meta.dirname, "programs");
const FILES = join(import.meta.dirname, "../../../packages/dashboard/dist/page");

const own = useOwnRedis();

describe.runIf(hasChromium())("the dashboard in a browser", { timeout: 180_000 }, () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await startChromium();
  });

  afterAll(() => browser?.close());

  /** Opens the page without its trailing slash and blocks a client, which involves everything between the browser and Redis. */
  const expectWorks = async (url: string): Promise<void> => {
    const page = await browser.newPage({ reducedMotion: "reduce" });
    const complaints: string[] = [];
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("console", (message) => {
      // The browser preloads assets before the redirect to the trailing slash.
      const isOwn = message.location().url.startsWith(url);
      if (message.type() === "error" && isOwn) complaints.push(message.text());
    });
    const hash = "#/subject?subject=ann&limiter=api";
    await page.goto(`${url.slice(0, -1)}?from=mail${hash}`);
    await page.waitForURL(`${url}?from=mail${hash}`);
    await page.getByRole("button", { name: "Block…", exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Reason").fill("OPS-1");
    await dialog.getByRole("button", { name: "Block", exact: true }).click();
    await expect
      .poll(() => dialog.textContent(), { message: url })
      .toContain("In force everywhere");
    expect(complaints, url).toEqual([]);
    await page.close();
  };

  // The programs below cover the other frameworks.
  test.each(mounts.filter(({ name }) => ["node:http", "Express 4"].includes(name)))(
    "works mounted in $name",
    async ({ mount }) => {
      const { options } = await seedDenied(own.client);
      await expectWorks(await mount(options));
    },
  );

  test.runIf(hasNginx())("works behind nginx, with each way of rewriting the path", async () => {
    const { options, page } = await seedDenied(own.client);
    const { host } = new URL(page);
    const root = new URL(await serve(createServer(dashboard(options)))).host;
    const kept = new URL(await serve(createServer(dashboard({ ...options, path: "/kept/b" }))));
    const nginx = await startNginx(`server {
      listen 80;
      location /a/b/ { proxy_pass http://${host}/ops/limits/; }
      location /bare/b { proxy_pass http://${host}/ops/limits; }
      location /stripped/b { rewrite ^/stripped/b/?(.*)$ /$1 break; proxy_pass http://${root}; }
      location /kept/b { proxy_pass http://${kept.host}; proxy_set_header Host $host; }
      location / { return 404; }
    }`);
    onTestFinished(() => nginx.stop());
    for (const path of ["/a/b/", "/bare/b/", "/stripped/b/", "/kept/b/"]) {
      await expectWorks(`http://127.0.0.1:${nginx.port}${path}`);
    }
  });

  test.each(["mjs", "cjs"])(
    "works in nested routers behind helmet's defaults, and in Fastify, mounted by a .%s file",
    async (extension) => {
      await seedDenied(own.client);
      const program = join(PROGRAMS, `mounted.${extension}`);
      const urls = await runProgram(program, own.server.socket);
      for (const url of urls) await expectWorks(url);
      const { headers } = await sendRequest(urls[0] as string);
      expect(headers["x-frame-options"]).toBe("SAMEORIGIN");
      expect(headers["content-security-policy"]).toMatch(/^default-src 'none'/);
    },
  );

  test.each(["esm", "cjs"] as const)(
    "works bundled by esbuild as %s if its files are copied, and says so if they are missing",
    async (format) => {
      const folder = mkdtempSync(join(tmpdir(), "headgate-bundled-"));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      const bundle = join(folder, format === "esm" ? "server.mjs" : "server.cjs");
      await build({
        entryPoints: [join(PROGRAMS, "mounted.mjs")],
        outfile: bundle,
        bundle: true,
        platform: "node",
        format,
        logLevel: "error",
        ...(format === "esm" ? { banner: { js: REQUIRE } } : {}),
      });
      await seedDenied(own.client);
      const files = join(folder, "limits-page");
      const { socket } = own.server;
      const urls = await runProgram(bundle, socket, files);
      for (const url of urls) {
        const { status, body } = await sendRequest(url);
        expect([status, body.toString()]).toEqual([503, expect.stringContaining(FIX)]);
      }
      // The process finds the files without a restart.
      cpSync(FILES, files, { recursive: true });
      await expectWorks(urls[0] as string);
      expect((await sendRequest(urls[1] as string)).status).toBe(200);
      const [bare = ""] = await runProgram(bundle, socket);
      expect((await sendRequest(bare)).status).toBe(503);
    },
  );
});

/** A banner that every ES module bundle needs for CommonJS dependencies. */
const REQUIRE = `import { createRequire } from "node:module"; const require = createRequire(import.meta.url);`;

const FIX = "copy that folder next to the bundle, and set the option `files` to the copy";
