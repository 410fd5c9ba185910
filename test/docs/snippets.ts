import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Block } from "./markdown.ts";
import { ROOT } from "./markdown.ts";

/** Snippets as programs. */
export interface Snippets {
  /** The compiler's errors, with the locations of the snippets. */
  readonly typeErrors: readonly string[];
  /** Runs each snippet on the built packages, on a free port, and on the tests' Redis. */
  run(redisSocket: string): Outcome[];
  remove(): void;
}

/** The result of running a snippet. */
export interface Outcome {
  readonly location: string;
  /** The lines that it printed with `console.log`. */
  readonly printed: readonly string[];
  /** Its errors, rejections and warnings. */
  readonly problems: readonly string[];
}

const COMPILER_OPTIONS = {
  target: "es2023",
  lib: ["ES2023", "ES2024.String"],
  module: "preserve",
  moduleResolution: "bundler",
  moduleDetection: "force",
  // Types come from the sources.
  customConditions: ["@headgate/source"],
  rewriteRelativeImportExtensions: true,
  types: ["node"],
  rootDir: "/",
  outDir: "out",
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  verbatimModuleSyntax: true,
  skipLibCheck: true,
};

/** This package and @headgate/fastify declare the same properties of Fastify with different types, so no program may have both. */
const CLASHING = '"@fastify/rate-limit"';

/** Compiles snippets, nearly all in one program, in a temporary folder that links the repository's node_modules. */
export function compileSnippets(blocks: readonly Block[]): Snippets {
  const dir = mkdtempSync(join(tmpdir(), "headgate-docs-"));
  symlinkSync(join(ROOT, "node_modules"), join(dir, "node_modules"));
  mkdirSync(join(dir, "out"));
  const files = blocks.map(({ text }, i) => {
    const file = `snippet-${i}.mts`;
    writeFileSync(join(dir, file), text);
    return file;
  });
  const clashing = files.filter((_, i) => blocks[i]?.text.includes(CLASHING));
  const rest = files.filter((file) => !clashing.includes(file));
  return {
    typeErrors: [rest, clashing]
      .map((program) => compile(dir, program))
      .join("")
      .split("\n")
      .filter((line) => /^\S.*: error /.test(line))
      .map((line) =>
        line.replace(
          /^snippet-(\d+)\.mts\((\d+),\d+\)/,
          (_, i, at) => `${blocks[Number(i)]?.location}, line ${at}`,
        ),
      ),
    run(redisSocket) {
      const scripts = blocks.map((_, i) => join(dir, `snippet-${i}.mjs`));
      scripts.forEach((script, i) => {
        const emitted = readFileSync(join(dir, "out", dir, `snippet-${i}.mjs`), "utf8");
        writeFileSync(script, withTestServers(emitted, redisSocket));
      });
      const harness = join(ROOT, "test/docs/run-snippets.mjs");
      const child = spawnSync(process.execPath, [harness, ...scripts], {
        encoding: "utf8",
        env: { ...process.env, REDIS_URL: redisSocket },
      });
      const outcomes = child.stdout.trimEnd().split("\n");
      if (child.status !== 0) throw new Error(`${outcomes.at(-1)}\n${child.stderr}`);
      return outcomes.map((line, i) => ({ location: blocks[i]?.location, ...JSON.parse(line) }));
    },
    remove: () => rmSync(dir, { recursive: true }),
  };
}

/** Returns the compiler's output for files that form one program. */
function compile(dir: string, files: readonly string[]): string {
  if (files.length === 0) return "";
  writeFileSync(
    join(dir, "tsconfig.json"),
    JSON.stringify({ compilerOptions: COMPILER_OPTIONS, files }),
  );
  const { stdout } = spawnSync(
    process.execPath,
    [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", dir, "--pretty", "false"],
    { cwd: dir, encoding: "utf8" },
  );
  return stdout;
}

/** Returns a script with the tests' Redis, free ports and a log in place of its own. */
export function withTestServers(script: string, redisSocket: string): string {
  const path = JSON.stringify(redisSocket);
  return (
    script
      .replaceAll("new Redis()", `new Redis(${path})`)
      .replaceAll("new Redis({", `new Redis({ path: ${path},`)
      // The snippet's other socket options stay.
      .replaceAll("createClient({ socket: {", `createClient({ socket: { path: ${path},`)
      .replaceAll(/createClient\(\{(?! socket:)/g, `createClient({ socket: { path: ${path} },`)
      .replaceAll("createClient()", `createClient({ socket: { path: ${path} } })`)
      .replaceAll("listen(3000)", "listen(0)")
      .replaceAll("?? 3000", "?? 0")
      .replaceAll("port: 3000", "port: 0")
      .replaceAll('"access.log"', JSON.stringify(join(ROOT, "examples/access-log/sample.log")))
  );
}
