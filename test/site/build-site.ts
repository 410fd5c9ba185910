import { execFile } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../docs/markdown.ts";

const DOCS = join(ROOT, "docs");

/** The folder of the built site. */
export const DIST: string = join(DOCS, ".vitepress/dist");

/** The file that the build writes last. */
const LAST_FILE = join(DIST, "hashmap.json");

/** Generated and installed files, whose changes need no new build. */
const NOT_READ = ["node_modules", "dist", "cache", "api", ".types"];

/** Builds the site if a page, the theme or a source has changed since the last build. Throws the build's error. */
export async function buildSite(): Promise<void> {
  const packages = join(ROOT, "packages");
  const sources = readdirSync(packages).map((name) => join(packages, name, "src"));
  const page = join(packages, "dashboard/page");
  const newest = Math.max(...[DOCS, page, join(ROOT, "examples"), ...sources].map(newestIn));
  if (existsSync(LAST_FILE) && statSync(LAST_FILE).mtimeMs > newest) return;
  await promisify(execFile)(process.execPath, [join(DOCS, "build.mjs")]);
}

/** Returns the time of the newest file in a directory, in milliseconds since the epoch. */
function newestIn(dir: string): number {
  const times = readdirSync(dir, { withFileTypes: true })
    .filter(({ name }) => !NOT_READ.includes(name))
    .map((entry) => {
      const path = join(dir, entry.name);
      return entry.isDirectory() ? newestIn(path) : statSync(path).mtimeMs;
    });
  return Math.max(0, ...times);
}
