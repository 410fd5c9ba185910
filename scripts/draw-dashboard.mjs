// Draws docs/pictures/dashboard-*.png: the recorded dashboard, as a browser shows it. Where there is no Chromium, says so and draws
// nothing.
//
//   npx -y pnpm@10.34.9 draw
import { createReadStream, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { buildDemo } from "./build-demo.mjs";
import { startChromium } from "./start-chromium.mjs";

const pictures = join(import.meta.dirname, "../docs/pictures");

/** The time in all pictures, so that they change only with the page and the recording. */
const AT = Date.UTC(2026, 2, 18, 14, 40, 20);

/** Pixels; the height is where a picture is cut. */
const WIDTH = 1_280;
const PICTURES = [
  { name: "dashboard-overview.png", hash: "#/", height: 906, colorScheme: "light" },
  {
    name: "dashboard-why-denied.png",
    hash: "#/subject?subject=203.0.113.250",
    height: 900,
    colorScheme: "light",
  },
  {
    name: "dashboard-limiter-dark.png",
    hash: "#/limiter?name=login",
    height: 906,
    colorScheme: "dark",
  },
];

const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".json": "application/json",
};

/** Serves a folder: from a file, the page could not fetch its recording. */
async function serve(folder) {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, "http://demo");
    const path = join(folder, pathname === "/" ? "index.html" : pathname);
    response.setHeader("content-type", TYPES[extname(path)] ?? "application/octet-stream");
    createReadStream(path)
      .on("error", () => response.writeHead(404).end())
      .pipe(response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

async function draw(browser) {
  const folder = mkdtempSync(join(tmpdir(), "headgate-pictures-"));
  await buildDemo(folder, AT);
  const server = await serve(folder);
  for (const { name, hash, height, colorScheme } of PICTURES) {
    const page = await browser.newPage({
      viewport: { width: WIDTH, height },
      colorScheme,
      timezoneId: "UTC",
      reducedMotion: "reduce",
    });
    await page.clock.setFixedTime(AT);
    await page.goto(`http://127.0.0.1:${server.address().port}/${hash}`, {
      waitUntil: "networkidle",
    });
    await page.locator("main h1").last().waitFor();
    await page.screenshot({ path: join(pictures, name) });
    await page.close();
  }
  await browser.close();
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
}

const browser = await startChromium();
if (browser === undefined) {
  console.error("docs/pictures is left as it is: install chromium to draw it");
} else {
  await draw(browser);
}
