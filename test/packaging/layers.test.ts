import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const biome = join(root, "node_modules/@biomejs/biome/bin/biome");

/** The folders of core, from the bottom up: each imports only itself and those before it. */
const folders = [
  "common",
  "net",
  "algorithms",
  "scripts",
  "store",
  "operations",
  "policy",
  "health",
  "slots",
  "pipeline",
  "queue",
  "registry",
  "usage",
  "control",
  "limiter",
  "redis",
  "http",
  "admin",
] as const;

type Probe = readonly [file: string, code: string, refusal?: string];

/** Every pair of folders; the linter must refuse each arrow that goes up, and only those. */
const arrows: readonly Probe[] = folders.flatMap((folder, at) =>
  folders
    .filter((other) => other !== folder)
    .map((other): Probe => {
      const code = `import "../${other}/any.ts"`;
      const goesDown = folders.indexOf(other) < at;
      const file = `core/src/${folder}/probe.ts`;
      return goesDown ? [file, code] : [file, code, "Imports go down"];
    }),
);

/** Lines of code with their paths, and the error that the linter must report; none if the line is allowed. */
const probes: readonly Probe[] = [
  ...arrows,
  ["core/src/limiter/names.ts", `import "../index.ts"`, "Imports go down"],
  ["core/src/pipeline/leases/lease-account.ts", `import "../../http/guard.ts"`, "Imports go down"],
  ["core/src/pipeline/leases/lease-account.ts", `import "../../store/store.ts"; Date.now()`],
  ["core/src/algorithms/gcra.ts", `await import("../redis/redis-store.ts")`, "Imports go down"],
  ["core/src/http/guard.ts", `import "../../../express/src/reject.ts"`, "Imports go down"],
  ["core/src/http/guard.ts", `import "@headgate/core"`, "relative path"],
  ["core/src/limiter/limiter.ts", `import "@headgate/core/redis"`, "relative path"],
  ["core/src/redis/redis-store.ts", `import "ioredis"`, "A Redis client"],
  ["core/src/limiter/limiter.ts", `import type { RedisClientType } from "redis"`, "A Redis client"],
  ["core/src/http/guard.ts", `import "@valkey/valkey-glide"`, "A Redis client"],
  ["core/src/common/time.ts", "export const now = Date.now()", "global variable Date"],
  [
    "core/src/common/policy.ts",
    "export const now = performance.now()",
    "global variable performance",
  ],
  ["core/src/algorithms/gcra.ts", "export const now = Date.now()", "global variable Date"],
  ["core/src/algorithms/gcra.ts", `import "node:perf_hooks"`, "reads no clock"],
  ["core/src/store/memory-store.ts", "export const now = Date.now() + performance.now()"],
  ["core/src/algorithms/gcra.test.ts", `import "../store/store.ts"; Date.now()`],
  ["express/src/index.ts", `import "iovalkey"`, "A Redis client"],
  ["breaker/src/create-breaker.ts", `import "@headgate/core/redis"`, "The breaker stands on"],
  ["breaker/src/create-breaker.ts", `import "@headgate/core"; import "@headgate/core/internal"`],
  ["breaker/src/call/make-call.ts", `import "@headgate/core/http"`, "The breaker stands on"],
  [
    "breaker/src/call/make-call.ts",
    `import "../../../core/src/errors.ts"`,
    "The breaker stands on",
  ],
  [
    "breaker/src/tracker/outcome-buffer.ts",
    `import "../machine/period.ts"; import "../breaker.ts"`,
  ],
  ["breaker/src/machine/period.ts", `import "../breaker.ts"`, "The machine decides"],
  ["breaker/src/machine/period.ts", `import "../link/view.ts"`, "The machine decides"],
  ["breaker/src/machine/period.ts", `import "@headgate/core"`, "The machine decides"],
  ["breaker/src/machine/period.ts", "export const now = Date.now()", "global variable Date"],
  ["fetch/src/limit-fetch.ts", `import "@headgate/core"; import "@headgate/core/internal"`],
  ["fetch/src/limit-fetch.ts", `import "@headgate/core/redis"`, "Calls to others stand on"],
  ["fetch/src/dialects/values.ts", `import "./dialect.ts"`],
  ["fetch/src/dialects/values.ts", `import "../cooldowns.ts"`, "The dialects are data"],
  ["fetch/src/dialects/values.ts", `import "@headgate/core"`, "The dialects are data"],
  [
    "shed/src/load-shedder.ts",
    `import "./law/admission.ts"; import "@headgate/core/internal-http"`,
  ],
  ["shed/src/load-shedder.ts", `import "@headgate/express"`, "Load shedding stands on"],
  ["shed/src/frameworks.ts", `import type { FastifyRequest } from "fastify"`, "Load shedding"],
  ["shed/src/law/admission.ts", `import "../channels.ts"`, "The law decides"],
  ["shed/src/law/admission.ts", `import "node:perf_hooks"`, "The law decides"],
  ["shed/src/law/admission.ts", "export const now = performance.now()", "performance"],
  ["telemetry/src/observe.ts", `import "@headgate/core/internal"`, "Telemetry hears"],
  ["telemetry/src/observe.ts", `import "@headgate/fastify"`, "Telemetry hears"],
  ["telemetry/src/prometheus.ts", `import "prom-client"`, "No exporter"],
  ["telemetry/src/opentelemetry.ts", `import "@opentelemetry/api"`, "No exporter"],
  ["telemetry/src/servers.ts", `import "@headgate/core"; import "./observe.ts"`],
  ["another/src/index.ts", `import "ioredis"`, "A Redis client"],
  ["another/src/index.ts", `import "../../core/src/limiter/limiter.ts"`, "by its name"],
  ["fastify/src/index.ts", `import "@headgate/core/redis"`, "An adapter"],
  ["fastify/src/index.ts", `import "../../core/src/http/guard.ts"`, "An adapter"],
  ["express/src/index.ts", `import "@headgate/fastify"`, "An adapter"],
  ["express/src/index.ts", `import "@headgate/core"; import "@headgate/core/http"`],
  ["hono/src/index.ts", `import "@headgate/express"`, "An adapter"],
  ["nestjs/src/index.ts", `import "@headgate/core/internal"`, "An adapter"],
  [
    "dashboard/src/fleet-reader.ts",
    `import "@headgate/core/admin"; import "@headgate/core/internal"; import "@headgate/core/http"`,
  ],
  ["dashboard/src/views/breakers.ts", `import "@headgate/breaker"`, "The dashboard reads"],
  ["dashboard/src/fastify.ts", `import type { FastifyInstance } from "fastify"`, "The dashboard"],
  ["dashboard/src/fleet-reader.ts", `import "ioredis"`, "A Redis client"],
  ["dashboard/page/src/a/b.ts", `import "../../../../cli/src/run.ts"`, "by its name"],
  ["dashboard/page/src/a/b.ts", `import "../../../src/api.ts"; import "@headgate/replay/report"`],
  ["another/src/a/b/c.ts", `import "../../d.ts"`],
  ["another/src/a/b/c.ts", `import "../../../package.json"`, "by its name"],
  ["another/src/index.ts", `import "../dist/esm/index.js"`, "by its name"],
];

interface Diagnostic {
  readonly category: string;
  readonly message: string;
  readonly location: { readonly path: string };
}

const dir = mkdtempSync(join(tmpdir(), "headgate-layers-"));
let diagnostics: readonly Diagnostic[];

/** Each probe is in a tree of its own, because several speak for the same file. */
const fileOf = (probe: number, file: string): string => join(`${probe}`, "packages", file);

beforeAll(() => {
  const config = JSON.parse(readFileSync(join(root, "biome.json"), "utf8"));
  const inTree = (pattern: string): string =>
    pattern.startsWith("!**") ? pattern : pattern.replace(/^(!?)packages/, "$1*/packages");
  for (const override of config.overrides) override.includes = override.includes.map(inTree);
  delete config.vcs;
  delete config.$schema;
  writeFileSync(join(dir, "biome.json"), JSON.stringify(config));
  for (const [probe, [file, code]] of probes.entries()) {
    const path = join(dir, fileOf(probe, file));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${code};\n`);
  }
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [biome, "lint", "--reporter=json", "--max-diagnostics=none", "."],
    { cwd: dir, encoding: "utf8" },
  );
  if (!stdout.startsWith("{")) throw new Error(`biome did not lint: ${stderr}`);
  diagnostics = JSON.parse(stdout).diagnostics;
});

afterAll(() => rmSync(dir, { recursive: true }));

describe("folders import only the folders below them", () => {
  for (const [probe, [file, code, refusal]] of probes.entries()) {
    test(`${file} ${refusal === undefined ? "may" : "must not"}: ${code}`, () => {
      const path = fileOf(probe, file);
      const said = diagnostics
        .filter(({ location, category }) => location.path === path && /Restricted/.test(category))
        .map(({ message }) => message);
      if (refusal === undefined) expect(said).toEqual([]);
      else expect(said.join("\n")).toContain(refusal);
    });
  }
});

describe("the files of core", () => {
  const core = join(root, "packages/core/src");
  const files = readdirSync(core, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".ts") && !file.endsWith(".test.ts"),
  );
  const importsOf = (file: string): readonly string[] => {
    const text = readFileSync(join(core, file), "utf8");
    return [...text.matchAll(/from "(\.[^"]+)"/g)].map(([, target]) =>
      relative(core, join(core, dirname(file), target as string)),
    );
  };
  const graph = new Map(files.map((file) => [file, importsOf(file)]));

  test("lie in the folders that CONTRIBUTING.md lists, in that order", () => {
    const used = new Set(
      files.filter((file) => file.includes("/")).map((file) => file.split("/")[0]),
    );
    expect([...used].sort()).toEqual([...folders].sort());
    const page = readFileSync(join(root, "CONTRIBUTING.md"), "utf8");
    const listed = [...page.matchAll(/^\| `([a-z]+)\/` /gm)].map(([, folder]) => folder);
    expect(listed.filter((folder) => folders.includes(folder as never))).toEqual(
      [...folders].reverse(),
    );
  });

  test("import no folder above their own, not even for a type", () => {
    const up = [...graph].flatMap(([file, targets]) =>
      targets
        .filter((target) => {
          const [from, to] = [file, target].map((path) =>
            folders.indexOf(path.split("/")[0] as never),
          );
          return from !== -1 && (to as number) > (from as number);
        })
        .map((target) => `${file} -> ${target}`),
    );
    expect(up).toEqual([]);
  });

  test("have no circular imports", () => {
    const circles: string[] = [];
    const done = new Set<string>();
    const visit = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(" -> "));
      if (path.includes(file) || done.has(file)) return;
      for (const target of graph.get(file) ?? []) visit(target, [...path, file]);
      done.add(file);
    };
    for (const file of files) visit(file, []);
    expect(circles).toEqual([]);
  });

  test("of two folders inside a folder, one imports the other at most", () => {
    const arrows = new Set<string>();
    for (const [file, targets] of graph) {
      for (const target of targets) {
        const [from, to] = [dirname(file), dirname(target)];
        if (from !== to && from !== "." && to !== ".") arrows.add(`${from} ${to}`);
      }
    }
    const mutual = [...arrows].filter((arrow) => {
      const [from, to] = arrow.split(" ") as [string, string];
      return from < to && arrows.has(`${to} ${from}`);
    });
    expect(mutual).toEqual([]);
  });
});
