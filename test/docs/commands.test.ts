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

/** The packages of the workspace, and the names of the command. */
const PACKAGES = readdirSync(join(ROOT, "packages")).map((name) => `@headgate/${name}`);
const HEADGATE = "@headgate/cli";
const { stdout: help } = await runCli(["--help"]);

/** The programs of the workspace that pnpm runs in addition to the scripts of package.json. */
const PROGRAMS = ["changeset"];

/** The command with which a reader bundles an application with the dashboard. */
const BUNDLING: ReadonlySet<string> = new Set([
  "npx esbuild server.ts --bundle --platform=node --outfile=dist/server.cjs",
  "cp -r node_modules/@headgate/dashboard/dist/page dist/limits-page",
]);

const commands = [
  ...blocksOf(PAGES, "sh").flatMap(({ text, location }) =>
    text
      .trimEnd()
      .split("\n")
      .map((line) => ({ line: line.replace(/\s+#.*$/, ""), location })),
  ),
  ...PAGES.flatMap(({ text, path }) =>
    codeIn(text)
      .filter((code) => code.startsWith("npx "))
      .map((line) => ({ line, location: path })),
  ),
];

test.each(commands)("$location: $line", ({ line, location }) => {
  const [program = "", ...rest] = line.replace(/^PORT=\d+ /, "").split(" ");
  if (program === "npx" && rest[0] === HEADGATE) {
    expect(help).toMatch(new RegExp(`^ {2}${rest[1]}\\b`, "m"));
  } else if (BUNDLING.has(line)) {
    // test/dashboard/browser/mounts.test.ts runs both.
    expect(location).toMatch(/^docs\/how-to\/dashboard\.md:/);
  } else if (program === "npx") {
    const [, pnpm = "", script = "", , scriptOfSite = ""] = rest;
    expect(packageManager.split("+")[0]).toBe(pnpm);
    if (script === "--filter") expect(Object.keys(site.scripts)).toContain(scriptOfSite);
    else expect([...Object.keys(scripts), ...PROGRAMS]).toContain(script);
  } else if (location.startsWith("docs/recipes/") && !["npm", "node"].includes(program)) {
    // The recipe's own test sends the same requests as these curl commands.
    expect(existsSync(join(ROOT, location.replace(/^docs(.+)\.md.*$/, "test$1.test.ts")))).toBe(
      true,
    );
  } else if (program === "curl" || line.endsWith("node server.mjs")) {
    // start.test.ts and behind-a-proxy.test.ts run these servers and send requests.
    expect(location).toMatch(/^docs\/(?:start|how-to\/(?:keys|proxies)\.md)/);
  } else if (program === "node") {
    expect(existsSync(join(ROOT, rest[0] ?? ""))).toBe(true);
  } else if (program === "npm") {
    const [command, ...packages] = rest;
    expect(command).toBe("install");
    for (const name of packages) {
      expect([...Object.keys(devDependencies), ...PACKAGES]).toContain(name);
    }
  } else {
    // docs/reference/redis.md shows it, and redis.test.ts runs its patterns.
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
