import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { Block } from "../../test/docs/markdown.ts";
import { page, ROOT } from "../../test/docs/markdown.ts";
import { withServer } from "../run-example.ts";

/** `tsconfig.json` of `nest new` with Nest 12 for CommonJS, in its strict form. There is no "type" in package.json: it is CommonJS. */
const COMPILER_OPTIONS = {
  module: "nodenext",
  moduleResolution: "nodenext",
  resolvePackageJsonExports: true,
  esModuleInterop: true,
  isolatedModules: true,
  declaration: true,
  removeComments: true,
  emitDecoratorMetadata: true,
  experimentalDecorators: true,
  allowSyntheticDefaultImports: true,
  target: "ES2023",
  sourceMap: true,
  outDir: "./dist",
  baseUrl: "./",
  incremental: true,
  skipLibCheck: true,
  strictNullChecks: true,
  forceConsistentCasingInFileNames: true,
  noImplicitAny: true,
  strictBindCallApply: true,
  noFallthroughCasesInSwitch: true,
  noEmitOnError: true,
};

const MAIN = `
import { NestFactory } from "@nestjs/core";
import { Application } from "./application";

async function bootstrap() {
  const app = await NestFactory.create(Application, { logger: ["error", "warn"] });
  await app.listen(0, "127.0.0.1");
  console.log(\`listening on \${await app.getUrl()}\`);
}
void bootstrap();
`;

const ON_REDIS = `
import { redisStore, type RedisClient } from "@headgate/core/redis";
import { HeadgateModule, slidingLog } from "@headgate/nestjs";

export function limitsOn(client: RedisClient) {
  const limits = slidingLog({ limit: 5, window: "1m" });
  return HeadgateModule.forRoot({ name: "api", limits, store: redisStore(client) });
}
`;

/** A place of its own that sees what the example has. */
const dir = mkdtempSync(join(tmpdir(), "headgate-nestjs-"));
afterAll(() => rmSync(dir, { recursive: true }));

function typescriptOn(path: string): Block[] {
  return page(path).blocks.filter(({ language }) => language === "typescript");
}

test("the programs of the docs compile and limit in a new Nest 12 project", async () => {
  const [snippet] = typescriptOn("docs/how-to/nestjs.md");
  const moving = typescriptOn("docs/moving/from-nestjs-throttler.md");
  expect(moving.length).toBeGreaterThanOrEqual(6);
  const write = (name: string, text: string) => writeFileSync(join(dir, name), text);
  symlinkSync(join(import.meta.dirname, "node_modules"), join(dir, "node_modules"));
  mkdirSync(join(dir, "src"));
  write("package.json", JSON.stringify({ name: "new-project", private: true }));
  write("tsconfig.json", JSON.stringify({ compilerOptions: COMPILER_OPTIONS, include: ["src"] }));
  write("src/application.ts", snippet?.text ?? "");
  write("src/main.ts", MAIN);
  write("src/on-redis.ts", ON_REDIS);
  for (const [i, { text }] of moving.entries()) write(`src/moving-${i}.ts`, text);
  const compiler = join(ROOT, "node_modules/typescript5/bin/tsc");
  const { stdout } = spawnSync(process.execPath, [compiler], { cwd: dir, encoding: "utf8" });
  expect(stdout).toBe("");
  await withServer(join(dir, "dist/main.js"), async (url) => {
    const answers: Response[] = [];
    for (let i = 0; i < 3; i += 1) answers.push(await fetch(`${url}/search`));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers[0]?.headers.get("ratelimit-policy")).toContain('"5-per-1m"');
    expect(answers[2]?.headers.get("content-type")).toBe("application/problem+json");
  });
});
