import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript5";
import { inject, onTestFinished } from "vitest";
import { ROOT } from "../markdown.ts";
import { atHome } from "../snippets.ts";

/** Where a limiter of ours is given a store. On a busy machine Redis may take longer than a limiter waits by itself. */
const STORE = /(?<=[{,]\s*)(?=store(?:,|: redisStore\())/g;

/** What begins to listen is left to the test. */
const LISTEN = /^(?:await )?app\.listen\(.*\);$/m;

/**
 * Runs a program of a page on the packages as they are built, with what `home` has installed, and its files `beside` the program,
 * until the test ends. Resolves with its variables of these names; one that it does not have is undefined.
 */
export async function load(
  program: string,
  names: readonly string[],
  { home = ROOT, beside = [] }: { home?: string; beside?: readonly string[] } = {},
): Promise<Readonly<Record<string, unknown>>> {
  const dir = mkdtempSync(join(tmpdir(), "headgate-moving-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  symlinkSync(join(home, "node_modules"), join(dir, "node_modules"));
  for (const name of beside) symlinkSync(join(home, name), join(dir, name));
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
  const isThere = (name: string) =>
    new RegExp(`^(?:const|let|class|async function|function) ${name}\\b`, "m").test(outputText);
  const file = join(dir, "program.mjs");
  const script = atHome(outputText, inject("redisSocket"));
  writeFileSync(file, `${script}\nexport { ${names.filter(isThere).join(", ")} };\n`);
  return import(pathToFileURL(file).href);
}
