import { join } from "node:path";
import ts from "typescript5";
import { ROOT } from "../markdown.ts";

/** The names of the properties of a type that a package exports, as the compiler reads its `.d.ts`. */
export function optionsOf(declarations: string, type: string): string[] {
  const file = join(ROOT, "node_modules", declarations);
  const program = ts.createProgram([file], {
    module: ts.ModuleKind.Preserve,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    noLib: true,
    types: [],
  });
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  const module = source === undefined ? undefined : checker.getSymbolAtLocation(source);
  const exported = module === undefined ? [] : checker.getExportsOfModule(module);
  const symbol = exported.find(({ name }) => name === type);
  if (symbol === undefined) throw new Error(`${declarations} exports no ${type}`);
  return checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol)).map((it) => it.name);
}
