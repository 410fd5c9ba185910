import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { codeIn, page, ROOT, section, tablesOf } from "./markdown.ts";

const [shipped, development, behind] = tablesOf(section(page("CONTRIBUTING.md"), "Dependencies"));

function manifestOf(name: string): {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
} {
  return JSON.parse(readFileSync(join(ROOT, "packages", name, "package.json"), "utf8"));
}

test("CONTRIBUTING.md gives the reason of each dependency that a package brings", () => {
  const owners = new Map<string, string[]>();
  for (const name of readdirSync(join(ROOT, "packages"))) {
    for (const dependency of Object.keys(manifestOf(name).dependencies ?? {})) {
      if (dependency.startsWith("@headgate/")) continue;
      owners.set(dependency, [...(owners.get(dependency) ?? []), name].sort());
    }
  }
  const listed = shipped?.rows ?? [];
  const brought = listed.filter(([, of]) => !of?.endsWith("compiled"));
  const rows = brought.map(([name = "", of = ""]) => [codeIn(name)[0], of.split(", ").sort()]);
  expect(new Map(rows as [string, string[]][])).toEqual(owners);
  for (const [name, , reason] of listed) expect(reason, name).not.toBe("");
});

test("CONTRIBUTING.md names every package of the workspace's catalogue", () => {
  const { catalog } = parse(readFileSync(join(ROOT, "pnpm-workspace.yaml"), "utf8"));
  const rows = [...(shipped?.rows ?? []), ...(development?.rows ?? [])];
  const named = new Set(rows.flatMap((row) => row.flatMap(codeIn)));
  const used = Object.keys(catalog).filter((name) => !name.startsWith("@types/"));
  expect([...named].sort()).toEqual(used.sort());
});

test("CONTRIBUTING.md gives the version in use of each dependency that stays behind, and the reason", () => {
  const { catalog } = parse(readFileSync(join(ROOT, "pnpm-workspace.yaml"), "utf8"));
  expect(behind?.rows.length).toBeGreaterThan(0);
  for (const [cell = "", used, newest, reason] of behind?.rows ?? []) {
    const [name = ""] = codeIn(cell);
    const version = catalog[name]?.replace(/^[~^]/, "");
    expect(`${version}.`.startsWith(`${used}.`), `${name} ${used}`).toBe(true);
    expect(newest, name).not.toBe(used);
    expect(reason, name).not.toBe("");
  }
});
