// Hooks of Node's module loader: each source is loaded by itself, as it stands without its types, so that functions are those of the file.
import { readFile } from "node:fs/promises";
import ts from "typescript5";

const compilerOptions = {
  target: ts.ScriptTarget.ESNext,
  module: ts.ModuleKind.ESNext,
  verbatimModuleSyntax: true,
};

export async function load(url, context, nextLoad) {
  if (!url.endsWith(".ts")) return nextLoad(url, context);
  const text = await readFile(new URL(url), "utf8");
  const source = ts.transpileModule(text, { compilerOptions }).outputText;
  return { format: "module", source, shortCircuit: true };
}
