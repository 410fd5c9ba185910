// Draws docs/pictures/report-*.png: the report of a proposal for the sample log, as a browser shows it. Where there is no
// Chromium, says so and draws nothing.
//
//   npx -y pnpm@10.34.9 build
//   npx -y pnpm@10.34.9 draw
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { startChromium } from "./start-chromium.mjs";

const root = join(import.meta.dirname, "..");
const pictures = join(root, "docs/pictures");

/** Pixels; the height is where a picture is cut. */
const PICTURES = [
  { name: "report-light.png", width: 900, height: 1_560, colorScheme: "light" },
  { name: "report-dark.png", width: 900, height: 1_560, colorScheme: "dark" },
  { name: "report-phone.png", width: 360, height: 1_560, colorScheme: "light" },
];

function writeReport(file) {
  const headgate = join(root, "packages/cli/dist/esm/headgate.js");
  const { status, stderr } = spawnSync(
    process.execPath,
    [headgate, "recommend", "sample.log", "--deny-at-most", "1%", "--html", file],
    { cwd: join(root, "examples/access-log"), encoding: "utf8" },
  );
  if (status !== 0) throw new Error(stderr);
}

async function draw(browser) {
  const dir = mkdtempSync(join(tmpdir(), "headgate-pictures-"));
  const file = join(dir, "report.html");
  writeReport(file);
  mkdirSync(pictures, { recursive: true });
  for (const { name, width, height, colorScheme } of PICTURES) {
    const page = await browser.newPage({ viewport: { width, height }, colorScheme });
    await page.goto(pathToFileURL(file).href);
    await page.screenshot({ path: join(pictures, name) });
  }
  await browser.close();
  rmSync(dir, { recursive: true });
}

const browser = await startChromium();
if (browser === undefined) {
  console.error("docs/pictures is left as it is: install chromium to draw it");
} else {
  await draw(browser);
}
