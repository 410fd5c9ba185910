import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { Block } from "../../test/docs/markdown.ts";
import { page, ROOT } from "../../test/docs/markdown.ts";
import { withServer } from "../run-example.ts";

const SERVER = `
import "reflect-metadata";
import { NestFactory } from "@nestjs/core";
import { Application } from "./application.mjs";

const app = await NestFactory.create(Application, { logger: ["error", "warn"] });
await app.listen(0, "127.0.0.1");
console.log(\`listening on \${await app.getUrl()}\`);
`;

const COMPILER_OPTIONS = {
  target: "es2023",
  module: "nodenext",
  moduleDetection: "force",
  experimentalDecorators: true,
  strict: true,
  skipLibCheck: true,
  allowJs: true,
  outDir: "out",
  noEmitOnError: true,
};

/** A place of its own that sees what the example has. */
const dir = mkdtempSync(join(tmpdir(), "headgate-nestjs-"));
afterAll(() => rmSync(dir, { recursive: true }));

function typescriptOn(path: string): Block[] {
  return page(path).blocks.filter(({ language }) => language === "typescript");
}

test("the decorators on the page about adapters compile, and limit, and those on the page for users of @nestjs/throttler compile", async () => {
  const [snippet] = typescriptOn("docs/how-to/adapters.md");
  const moving = typescriptOn("docs/moving/from-nestjs-throttler.md");
  expect(moving.length).toBeGreaterThan(10);
  symlinkSync(join(import.meta.dirname, "node_modules"), join(dir, "node_modules"));
  copyFileSync(join(import.meta.dirname, "rate-limit.mjs"), join(dir, "rate-limit.mjs"));
  writeFileSync(join(dir, "application.mts"), snippet?.text ?? "");
  const files = moving.map(({ text }, i) => {
    writeFileSync(join(dir, `moving-${i}.mts`), text);
    return `moving-${i}.mts`;
  });
  const config = { compilerOptions: COMPILER_OPTIONS, files: ["application.mts", ...files] };
  writeFileSync(join(dir, "tsconfig.json"), JSON.stringify(config));
  const compiler = join(ROOT, "node_modules/typescript5/bin/tsc");
  const { stdout } = spawnSync(process.execPath, [compiler], { cwd: dir, encoding: "utf8" });
  expect(stdout).toBe("");
  writeFileSync(join(dir, "out/server.mjs"), SERVER);
  await withServer(join(dir, "out/server.mjs"), async (url) => {
    const answers: Response[] = [];
    for (let i = 0; i < 3; i += 1) answers.push(await fetch(`${url}/search`));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers[0]?.headers.get("ratelimit-policy")).toContain('"5-per-1m"');
    expect(answers[2]?.headers.get("content-type")).toBe("application/problem+json");
  });
});
