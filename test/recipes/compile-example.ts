import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import ts from "typescript5";
import { onTestFinished } from "vitest";
import { ROOT } from "../docs/markdown.ts";

/**
 * Compiles a file of `examples/` for a process of its own, which finds the packages as they are built; returns its path.
 * It is there until the test ends.
 */
export function compileExample(path: string): string {
  const dir = mkdtempSync(join(tmpdir(), "headgate-recipe-"));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  symlinkSync(join(ROOT, "node_modules"), join(dir, "node_modules"));
  const source = readFileSync(join(ROOT, "examples", path), "utf8");
  const compiled = ts.transpile(source, {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    verbatimModuleSyntax: true,
  });
  const file = join(dir, `${basename(path, ".ts")}.mjs`);
  writeFileSync(file, compiled);
  return file;
}
