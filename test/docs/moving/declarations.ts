import { readdirSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript5";
import { ROOT } from "../markdown.ts";

/** The declarations in the `.d.ts` files of a package. */
export interface Declarations {
  /** The names that its entry exports, including types. */
  readonly exported: readonly string[];
  /** The exported names that are classes. */
  readonly classes: readonly string[];
  /** The names of the public properties of a type, a class, or the object members of a union. */
  propertiesOf(type: string): string[];
}

/**
 * Reads the `.d.ts` files of one directory without resolving their imports. `dir` is a path of the repository, and `entry` a file
 * in it. Throws for a type that the entry does not export.
 */
export function readDeclarations(dir: string, entry: string): Declarations {
  const names = readdirSync(join(ROOT, dir)).filter((name) => name.endsWith(".d.ts"));
  const files = names.map((name) => join(ROOT, dir, name));
  const program = ts.createProgram(files, {
    module: ts.ModuleKind.Preserve,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    // Declares `Array`.
    lib: ["lib.es5.d.ts"],
    noResolve: true,
    types: [],
  });
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(join(ROOT, dir, entry));
  const module = source === undefined ? undefined : checker.getSymbolAtLocation(source);
  const exported = module === undefined ? [] : checker.getExportsOfModule(module);
  return {
    exported: exported.map(({ name }) => name),
    classes: exported.filter(({ flags }) => flags & ts.SymbolFlags.Class).map(({ name }) => name),
    propertiesOf(type) {
      const symbol = exported.find(({ name }) => name === type);
      if (symbol === undefined) throw new Error(`${dir}/${entry} exports no ${type}`);
      const declared = checker.getDeclaredTypeOfSymbol(symbol);
      const all = declared.isUnion() ? declared.types : [declared];
      const objects = all.filter((one) => !checker.isArrayType(one));
      const properties = objects.flatMap((one) => checker.getPropertiesOfType(one));
      return [...new Set(properties.filter(isPublic).map(({ name }) => name))];
    },
  };
}

function isPublic({ declarations = [] }: ts.Symbol): boolean {
  return declarations.every(
    (one) => !(ts.getCombinedModifierFlags(one) & ts.ModifierFlags.Private),
  );
}
