import { join } from "node:path";
import ts from "typescript5";

/** The public entries of the packages that are there in both formats, with their declarations as ES modules. */
const ENTRIES: Readonly<Record<string, string>> = {
  "@headgate/core": "core/dist/esm/index.d.ts",
  "@headgate/core/redis": "core/dist/esm/redis/index.d.ts",
  "@headgate/core/http": "core/dist/esm/http/index.d.ts",
  "@headgate/core/operate": "core/dist/esm/operate/index.d.ts",
  "@headgate/breaker": "breaker/dist/esm/index.d.ts",
  "@headgate/express": "express/dist/esm/index.d.ts",
  "@headgate/fastify": "fastify/dist/esm/index.d.ts",
  "@headgate/telemetry": "telemetry/dist/esm/index.d.ts",
};

/**
 * A program that compiles only if each public type and value of all packages has the same type as an ES module and as CommonJS.
 * `packages` is where they are installed.
 */
export function assignBothWays(packages: string): string {
  const files = Object.values(ENTRIES).map((file) => join(packages, file));
  const program = ts.createProgram(files, {
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    skipLibCheck: true,
    types: [],
  });
  const checker = program.getTypeChecker();
  const lines = Object.keys(ENTRIES).flatMap((entry, i) => [
    `import type * as Required${i} from "${entry}" with { "resolution-mode": "require" };`,
    `import type * as Imported${i} from "${entry}" with { "resolution-mode": "import" };`,
  ]);
  files.forEach((file, i) => {
    const source = program.getSourceFile(file);
    const module = source && checker.getSymbolAtLocation(source);
    if (module === undefined) throw new Error(`${file} is no module`);
    for (const exported of checker.getExportsOfModule(module).filter(isPublic)) {
      const { flags } = exported;
      const symbol = flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
      const { name } = exported;
      const [ours, theirs] = [`Required${i}.${name}`, `Imported${i}.${name}`];
      if (symbol.flags & ts.SymbolFlags.Value && name !== "default") {
        lines.push(bothWays(`value_${i}_${name}`, `typeof ${ours}`, `typeof ${theirs}`));
      }
      if (symbol.flags & ts.SymbolFlags.Type) {
        const parameters = parametersOf(symbol);
        lines.push(bothWays(`type_${i}_${name}`, ours + parameters, theirs + parameters));
      }
    }
  });
  return `${lines.join("\n")}\n`;
}

function bothWays(name: string, one: string, other: string): string {
  return `export const ${name}: [${one}, ${other}] = null! as [${other}, ${one}];`;
}

/** What is exported for our own packages only is marked as internal where it is exported. */
function isPublic({ declarations = [] }: ts.Symbol): boolean {
  return !declarations.some((one) => {
    const statement = ts.findAncestor(one, ts.isExportDeclaration);
    return (
      statement && ts.getJSDocTags(statement).some(({ tagName }) => tagName.text === "internal")
    );
  });
}

/** `<any, any>` for a type of two parameters. */
function parametersOf({ declarations = [] }: ts.Symbol): string {
  for (const one of declarations) {
    const { length = 0 } = (one as ts.InterfaceDeclaration).typeParameters ?? {};
    if (length > 0) return `<${Array(length).fill("any").join(", ")}>`;
  }
  return "";
}
