import type { Browser } from "playwright-core";
import { chromium } from "playwright-core";
import { installDebian } from "./install-debian.ts";
import { onPath } from "./redis-binary.ts";

const NAMES = ["chromium", "chromium-browser", "google-chrome"] as const;

/** Whether there is a Chromium, installed where that can be done; else says in one line what is missing. */
export function hasChromium(): boolean {
  if (pathOfChromium() === undefined) installDebian("chromium");
  if (pathOfChromium() !== undefined) return true;
  const remedy = "install chromium (Debian: apt-get install chromium)";
  // Where all is to be proven, nothing is left out silently.
  if (process.env["CI"]) throw new Error(`no Chromium, and none could be installed: ${remedy}`);
  console.error(`Skipped what needs a real browser: ${remedy}.`);
  return false;
}

export function startChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: pathOfChromium() as string,
    // Root has no sandbox.
    chromiumSandbox: process.getuid?.() !== 0,
  });
}

function pathOfChromium(): string | undefined {
  return NAMES.map(onPath).find((path) => path !== undefined);
}
