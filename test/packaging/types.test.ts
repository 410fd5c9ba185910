import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, inject, test } from "vitest";
import { runTool } from "./run-tool.ts";

const consumer = inject("consumer");

/** The compilers, by where the workspace has them. */
const compilers = { "TypeScript 5.9": "typescript5/bin/tsc", "TypeScript 7": "typescript/bin/tsc" };

/** How a consumer compiles, and its kinds of module: in Node's modes, both in one program. */
const modes = [
  { name: "commonjs", options: { module: "commonjs" }, include: ["commonjs"] },
  { name: "node16", options: { module: "node16" }, include: ["commonjs", "module"] },
  { name: "nodenext", options: { module: "nodenext" }, include: ["commonjs", "module"] },
  {
    name: "preserve",
    options: { module: "preserve", moduleResolution: "bundler" },
    include: ["module"],
  },
];

/** What applications have; nearly all leave the declarations of libraries unchecked. */
const usual = { strict: true, skipLibCheck: true, noEmit: true, target: "es2022", types: ["node"] };

beforeAll(() => {
  for (const type of ["commonjs", "module"]) {
    const dir = join(consumer, type);
    cpSync(join(consumer, "types"), dir, { recursive: true });
    writeFileSync(join(dir, "package.json"), JSON.stringify({ type }));
  }
  // Its types are of ES modules only, which TypeScript's oldest resolution does not find.
  rmSync(join(consumer, "commonjs/typebox.ts"));
  for (const name of Object.keys(inject("tarballs"))) writeSnippets(name);
});

/** What a package's README shows has to compile as well. */
function writeSnippets(name: string): void {
  const readme = readFileSync(join(consumer, "node_modules/@headgate", name, "README.md"), "utf8");
  const dir = join(consumer, "module/readme");
  mkdirSync(dir, { recursive: true });
  for (const [index, [, code = ""]] of [...readme.matchAll(/```ts\n(.*?)```/gs)].entries()) {
    writeFileSync(join(dir, `${name}-${index}.ts`), code);
  }
}

describe.each(Object.entries(compilers))("under %s", (compiler, tsc) => {
  test.each(modes)("a consumer with module $name compiles, and its mistakes do not", (mode) => {
    compile(tsc, `${compiler} ${mode.name}`, mode.options, mode.include);
  });
});

test.each(["commonjs", "module"])("declarations hold when they are checked too: %s", (type) => {
  const options = { module: "nodenext", skipLibCheck: false };
  // Typebox's own declarations take longer than all others together, and are not the subject.
  compile(compilers["TypeScript 7"], `${type} declarations`, options, [type], ["**/typebox.ts"]);
});

function compile(
  tsc: string,
  name: string,
  options: object,
  include: readonly string[],
  exclude: readonly string[] = [],
): void {
  const file = `${name.replaceAll(" ", "-")}.json`;
  const compilerOptions = { ...usual, ...options, esModuleInterop: true };
  writeFileSync(join(consumer, file), JSON.stringify({ compilerOptions, include, exclude }));
  runTool(tsc, ["-p", file], consumer);
}
