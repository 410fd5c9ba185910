import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../docs/markdown.ts";

/** The files of core that a new process has loaded once one request was limited in memory. */
function loadedBy(middleware: string): readonly string[] {
  const program = `
    ${middleware};
    const files = Object.keys(require.cache).filter((file) => file.includes("/packages/core/dist/"));
    process.stdout.write(JSON.stringify(files));
  `;
  const args = ["--input-type=commonjs", "--eval", program];
  return JSON.parse(execFileSync(process.execPath, args, { cwd: ROOT, encoding: "utf8" }));
}

test("a limiter in memory loads no code for Redis", () => {
  const files = loadedBy(`
    const { rateLimit, gcra } = require("@headgate/express");
    const headers = new Map();
    const response = { setHeader: (name, value) => headers.set(name, value) };
    rateLimit({ limits: gcra({ limit: 5, window: "1m" }) })(
      { ip: "203.0.113.1", headers: {}, socket: { remoteAddress: "203.0.113.1" } },
      response,
      () => {},
    );
    if (headers.get("X-RateLimit-Remaining") !== "4") throw new Error("the request was not limited");
  `);
  expect(files.map((file) => basename(file)).sort()).toEqual([
    "http-guard.cjs",
    "http.cjs",
    "index.cjs",
    "internal-http.cjs",
    "limiter.cjs",
    "network.cjs",
    "rolldown-runtime.cjs",
  ]);
  // Scripts that decide are composed of sections, which the directives of SCRIPTS.md put together.
  const composes = (file: string): boolean => readFileSync(file, "utf8").includes("--- @limits");
  expect(files.filter(composes)).toEqual([]);
  expect(composes(join(ROOT, "packages/core/dist/shared/redis-store.cjs"))).toBe(true);
});
