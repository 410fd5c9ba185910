import type { Browser } from "playwright-core";
import { chromium } from "playwright-core";
import { hasTool } from "./install-debian.ts";
import { onPath } from "./redis-binary.ts";

/** The headless shell comes first: a whole browser also draws its own windows, and takes twice the time. */
const NAMES = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"] as const;

/** Whether there is a Chromium, installed where that can be done. */
export function hasChromium(): boolean {
  return hasTool({
    name: "Chromium",
    need: "a real browser",
    debian: "chromium-headless-shell",
    isThere: () => pathOfChromium() !== undefined,
  });
}

export function startChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: pathOfChromium() as string,
    // Chromium has no sandbox for root.
    chromiumSandbox: process.getuid?.() !== 0,
  });
}

function pathOfChromium(): string | undefined {
  return NAMES.map(onPath).find((path) => path !== undefined);
}
