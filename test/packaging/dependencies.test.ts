import { readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { builtinModules } from "node:module";
import { dirname, join } from "node:path";
import { describe, expect, inject, test } from "vitest";

interface Manifest {
  readonly name: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

const root = join(import.meta.dirname, "../..");

/** Licences that require only their text, which each package contains. */
const ALLOWED = [
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "BlueOak-1.0.0",
  "ISC",
  "MIT",
];

/** The third-party packages that an installation of a package may add, and their mebibytes. */
const BUDGETS = {
  core: { others: 2, mebibytes: 4 },
  breaker: { others: 2, mebibytes: 4 },
  express: { others: 2, mebibytes: 4 },
  fetch: { others: 2, mebibytes: 4 },
  dashboard: { others: 2, mebibytes: 4 },
  hono: { others: 2, mebibytes: 4 },
  nestjs: { others: 2, mebibytes: 4 },
  replay: { others: 2, mebibytes: 4 },
  shed: { others: 2, mebibytes: 4 },
  fastify: { others: 3, mebibytes: 4 },
  telemetry: { others: 2, mebibytes: 4 },
  cli: { others: 30, mebibytes: 8 },
} as const;

type PackageName = keyof typeof BUDGETS;

const NAMES = Object.keys(inject("tarballs")) as PackageName[];

function readManifest(dir: string): Manifest {
  return JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
}

/** Returns the directories of a package's dependencies, including transitive ones. */
function installedWith(dir: string, found: Set<string> = new Set()): Set<string> {
  for (const name of Object.keys(readManifest(dir).dependencies ?? {})) {
    const path = findPackage(name, dir);
    if (found.has(path)) continue;
    found.add(path);
    installedWith(path, found);
  }
  return found;
}

/** Finds a package as Node resolves it. */
function findPackage(name: string, from: string): string {
  for (let dir = from; dir !== dirname(dir); dir = dirname(dir)) {
    const path = join(dir, "node_modules", name);
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return realpathSync(path);
  }
  throw new Error(`${name} is not installed for ${from}`);
}

function bytesOf(dir: string): number {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter(
      (entry) => entry.isFile() && !entry.parentPath.slice(dir.length).includes("node_modules"),
    )
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

test("each package has a size budget", () => {
  expect(Object.keys(BUDGETS).sort()).toEqual([...NAMES].sort());
});

describe.each(NAMES)("the dependencies of @headgate/%s", (name) => {
  const others = [...installedWith(join(root, "packages", name))]
    .filter((dir) => !dir.startsWith(join(root, "packages")))
    .map((dir) => ({ dir, ...readManifest(dir) }));

  test("have permissive licences", () => {
    for (const { name, license } of others) expect(ALLOWED, name).toContain(license);
  });

  test("are within the budget", () => {
    const bytes = others.reduce((sum, { dir }) => sum + bytesOf(dir), 0);
    expect(others.length).toBeLessThanOrEqual(BUDGETS[name].others);
    expect(bytes / 2 ** 20).toBeLessThanOrEqual(BUDGETS[name].mebibytes);
  });

  test("are declared, and not bundled", () => {
    const dir = join(inject("consumer"), "node_modules/@headgate", name);
    const { dependencies, peerDependencies } = readManifest(dir);
    const declared = [
      `@headgate/${name}`,
      ...Object.keys({ ...dependencies, ...peerDependencies }),
    ];
    const imported = readdirSync(join(dir, "dist"), { recursive: true, encoding: "utf8" })
      .filter((file) => /\.c?js$/.test(file))
      .flatMap((file) => importsOf(readFileSync(join(dir, "dist", file), "utf8")));
    expect(imported).not.toEqual([]);
    expect(imported.filter((one) => !declared.includes(one))).toEqual([]);
  });
});

/** The packages that a module imports. */
function importsOf(code: string): string[] {
  const statements = /^(?:import|export|\}).* from "([^"]+)";$|\b(?:import|require)\("([^"]+)"\)/gm;
  return [...code.matchAll(statements)]
    .map(([, from, called]) => (from ?? called) as string)
    .filter((from) => !from.startsWith("."))
    .filter((from) => !from.startsWith("node:") && !builtinModules.includes(from))
    .map((from) => from.split("/", from.startsWith("@") ? 2 : 1).join("/"));
}
