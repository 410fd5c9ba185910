import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCli } from "../cli/run-cli.ts";
import { blocksOf, codeIn, PAGES, page, ROOT, section, tablesOf } from "./markdown.ts";

const { scripts, packageManager, devDependencies } = JSON.parse(
  readFileSync(join(ROOT, "package.json"), "utf8"),
) as {
  scripts: Record<string, string>;
  packageManager: string;
  devDependencies: Record<string, string>;
};

const site = JSON.parse(readFileSync(join(ROOT, "docs/package.json"), "utf8")) as {
  scripts: Record<string, string>;
};

/** Our packages, and the commands of the one that is a command. */
const PACKAGES = readdirSync(join(ROOT, "packages")).map((name) => `@headgate/${name}`);
const HEADGATE = "@headgate/cli";
const { stdout: help } = await runCli(["--help"]);

/** What pnpm runs besides the scripts of package.json: programs of the workspace. */
const PROGRAMS = ["changeset"];

/** How a reader bundles an application with the dashboard. */
const BUNDLING: ReadonlySet<string> = new Set([
  "npx esbuild server.ts --bundle --platform=node --outfile=dist/server.cjs",
  "cp -r node_modules/@headgate/dashboard/dist/page dist/limits-page",
]);

const commands = [
  ...blocksOf(PAGES, "sh").flatMap(({ text, place }) =>
    text
      .trimEnd()
      .split("\n")
      .map((line) => ({ line: line.replace(/\s+#.*$/, ""), place })),
  ),
  ...PAGES.flatMap(({ text, path }) =>
    codeIn(text)
      .filter((code) => code.startsWith("npx "))
      .map((line) => ({ line, place: path })),
  ),
];

test.each(commands)("$place: $line", ({ line, place }) => {
  const [program = "", ...rest] = line.replace(/^PORT=\d+ /, "").split(" ");
  if (program === "npx" && rest[0] === HEADGATE) {
    expect(help).toMatch(new RegExp(`^ {2}${rest[1]}\\b`, "m"));
  } else if (BUNDLING.has(line)) {
    // test/dashboard/browser/mounts.test.ts does both.
    expect(place).toMatch(/^docs\/how-to\/dashboard\.md:/);
  } else if (program === "npx") {
    const [, pnpm = "", script = "", , scriptOfSite = ""] = rest;
    expect(packageManager.split("+")[0]).toBe(pnpm);
    if (script === "--filter") expect(Object.keys(site.scripts)).toContain(scriptOfSite);
    else expect([...Object.keys(scripts), ...PROGRAMS]).toContain(script);
  } else if (place.startsWith("docs/recipes/") && !["npm", "node"].includes(program)) {
    // curl, alone or in a loop, of which the recipe's own test asks the same.
    expect(existsSync(join(ROOT, place.replace(/^docs(.+)\.md.*$/, "test$1.test.ts")))).toBe(true);
  } else if (program === "curl" || line.endsWith("node server.mjs")) {
    // The servers that a reader writes; start.test.ts and behind-a-proxy.test.ts run them, and ask.
    expect(place).toMatch(/^docs\/(?:start|how-to\/(?:keys|proxies)\.md)/);
  } else if (program === "node") {
    expect(existsSync(join(ROOT, rest[0] ?? ""))).toBe(true);
  } else if (program === "npm") {
    const [command, ...packages] = rest;
    expect(command).toBe("install");
    for (const name of packages) {
      expect([...Object.keys(devDependencies), ...PACKAGES]).toContain(name);
    }
  } else {
    // docs/reference/redis.md; redis.test.ts tries its patterns.
    expect(program).toBe("redis-cli");
  }
});

test("the reference of the command lists each command of its help, in that order, with a link", () => {
  const names = [...(help.split("Commands:\n")[1] ?? "").matchAll(/^ {2}([a-z-]+) .*\S$/gm)];
  const rows = tablesOf(section(page("docs/reference/cli.md"), "The commands"))[0]?.rows ?? [];
  expect(rows.map(([command = ""]) => codeIn(command)[0])).toEqual(
    names.map(([, name]) => `headgate ${name}`),
  );
  for (const [, does] of rows) expect(does).toMatch(/\]\([^)]+\.md/);
});
