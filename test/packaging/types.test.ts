import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, inject, test } from "vitest";
import { runTool } from "./run-tool.ts";

const consumer = inject("consumer");

/** How a consumer compiles, and its kinds of module: in Node's modes, both in one program. */
interface Mode {
  readonly name: string;
  readonly options: { readonly module: string; readonly [option: string]: unknown };
  readonly include: readonly string[];
  readonly exclude?: readonly string[];
}

const commonjs: Mode = {
  name: "commonjs",
  options: { module: "commonjs" },
  include: ["commonjs"],
};
const preserve: Mode = {
  name: "preserve",
  options: { module: "preserve", moduleResolution: "bundler" },
  include: ["module"],
};
const node16: Mode = {
  name: "node16",
  options: { module: "node16" },
  include: ["commonjs", "module"],
};
const nodenext: Mode = { ...node16, name: "nodenext", options: { module: "nodenext" } };

/** Declarations are checked too. Typebox's own take longer than all others together, and are not the subject. */
const declarations = (type: string): Mode => ({
  name: `nodenext, all declarations of ${type}`,
  options: { module: "nodenext", skipLibCheck: false },
  include: [type],
  exclude: ["**/typebox.ts"],
});

/** A compiler takes seconds for each program. These find nothing that the others do not find, but for a mistake of a compiler. */
const seldom = (...modes: Mode[]): Mode[] => (process.env["HEADGATE_LONG"] === "1" ? modes : []);

/** The compilers, by where the workspace has them. */
const compilers = [
  {
    compiler: "TypeScript 5.9",
    tsc: "typescript5/bin/tsc",
    modes: [commonjs, nodenext, ...seldom(node16, preserve)],
  },
  {
    compiler: "TypeScript 7",
    tsc: "typescript/bin/tsc",
    modes: [
      declarations("commonjs"),
      declarations("module"),
      preserve,
      ...seldom(commonjs, node16, nodenext),
    ],
  },
];

/** The options of applications; nearly all use `skipLibCheck`. */
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

/** The snippets in a package's README must compile as well. */
function writeSnippets(name: string): void {
  const readme = readFileSync(join(consumer, "node_modules/@headgate", name, "README.md"), "utf8");
  const dir = join(consumer, "module/readme");
  mkdirSync(dir, { recursive: true });
  for (const [index, [, code = ""]] of [...readme.matchAll(/```ts\n(.*?)```/gs)].entries()) {
    writeFileSync(join(dir, `${name}-${index}.ts`), code);
  }
}

describe.each(compilers)("under $compiler", ({ compiler, tsc, modes }) => {
  test.each(modes)(
    "a consumer with module $name compiles, and mistakes are type errors",
    (mode) => {
      const { name, options, include, exclude = [] } = mode;
      const file = `${`${compiler} ${name}`.replaceAll(/\W+/g, "-")}.json`;
      const compilerOptions = { ...usual, ...options, esModuleInterop: true };
      writeFileSync(join(consumer, file), JSON.stringify({ compilerOptions, include, exclude }));
      runTool(tsc, ["-p", file], consumer);
    },
  );
});
