import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import ts from "typescript5";
import { afterAll } from "vitest";
import { ROOT } from "../docs/markdown.ts";

/**
 * Compiles a file of `examples/` for processes that use the built packages, and returns its path.
 * The file is removed when the tests of a suite have ended.
 */
export function useCompiledExample(path: string): string {
  const dir = mkdtempSync(join(tmpdir(), "headgate-recipe-"));
  afterAll(() => rmSync(dir, { recursive: true }));
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
