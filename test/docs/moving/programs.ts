import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript5";
import { inject, onTestFinished } from "vitest";
import { ROOT } from "../markdown.ts";
import { withTestServers } from "../snippets.ts";

/** The `store` option of a Headgate limiter. A longer `storeTimeout` is inserted there, because a busy machine may exceed the default. */
const STORE = /(?<=[{,]\s*)(?=store(?:,|: redisStore\())/g;

/** The call that listens is removed: the test listens itself. */
const LISTEN = /^(?:await )?app\.listen\(.*\);$/m;

/**
 * Runs a program of a page until the test ends, on the built packages and the modules installed in `home`. The files `linked` are
 * links to files of `home`. Resolves with the variables of these names; a variable that does not exist is undefined.
 */
export async function load(
  program: string,
  names: readonly string[],
  { home = ROOT, linked = [] }: { home?: string; linked?: readonly string[] } = {},
): Promise<Readonly<Record<string, unknown>>> {
  const dir = mkdtempSync(join(tmpdir(), "headgate-moving-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  symlinkSync(join(home, "node_modules"), join(dir, "node_modules"));
  for (const name of linked) symlinkSync(join(home, name), join(dir, name));
  const source = program
    .replace(LISTEN, "")
    .replaceAll(STORE, 'storeTimeout: "10s", ')
    .replace(/^export (?=class )/m, "");
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      experimentalDecorators: true,
    },
  });
  const isDeclared = (name: string) =>
    new RegExp(`^(?:const|let|class|async function|function) ${name}\\b`, "m").test(outputText);
  const file = join(dir, "program.mjs");
  const script = withTestServers(outputText, inject("redisSocket"));
  writeFileSync(file, `${script}\nexport { ${names.filter(isDeclared).join(", ")} };\n`);
  return import(pathToFileURL(file).href);
}
