// The browser that draws pictures of pages.
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium } from "playwright-core";

/** Starts the first Chromium on the path; undefined where there is none. */
export async function startChromium() {
  const dirs = (process.env.PATH ?? "").split(delimiter);
  const names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
  const executablePath = names
    .flatMap((name) => dirs.map((dir) => join(dir, name)))
    .find(existsSync);
  if (executablePath === undefined) return undefined;
  // Root has no sandbox.
  return chromium.launch({ executablePath, chromiumSandbox: process.getuid?.() !== 0 });
}
