import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const biome = join(root, "node_modules/@biomejs/biome/bin/biome");

/** Each line of code, where it stands, and what the linter must say of it; nothing where it is allowed. */
const probes = [
  ["core/src/errors.ts", `import "./policy.ts"`, "Layer 0"],
  ["core/src/time.ts", `import type { Policy } from "./policy.ts"`, "Layer 0"],
  ["core/src/options.ts", `import "./errors.ts"`],
  ["core/src/a-new-file.ts", `import "./limiter/limiter.ts"`, "until biome.json gives it a layer"],
  ["core/src/policy.ts", `import "./algorithms/gcra.ts"`, "Layer 1"],
  ["core/src/decision.ts", `import "./limiter/limiter.ts"`, "Layer 1"],
  ["core/src/key.ts", `export { x } from "./store/store.ts"`, "Layer 1"],
  ["core/src/key.ts", `import "node:crypto"; import "./time.ts"; import "./policy.ts"`],
  ["core/src/algorithms/gcra.ts", `import "../store/store.ts"`, "Layer 2"],
  ["core/src/algorithms/gcra.ts", `import "../limiter/limiter.ts"`, "Layer 2"],
  ["core/src/algorithms/gcra.ts", `await import("../redis/redis-store.ts")`, "Layer 2"],
  ["core/src/algorithms/gcra.ts", `import "../policy.ts"; import "./exact.ts"`],
  ["core/src/scripts/compose-script.ts", `import "../store/store.ts"`, "Layer 2"],
  ["core/src/scripts/compose-script.ts", `import "../algorithms/algorithm.ts"`],
  ["core/src/algorithms/gcra.ts", `import "../scripts/digits.ts"`, "Layer 2"],
  ["core/src/store/decide.ts", `import "../limiter/limiter.ts"`, "Layer 3"],
  ["core/src/store/decide.ts", `import "../a-new-file.ts"`, "Layer 3"],
  ["core/src/redis/redis-store.ts", `import "../http/guard.ts"`, "Layer 3"],
  ["core/src/redis/redis-store.ts", `import "../store/store.ts"; import "../algorithms/gcra.ts"`],
  ["core/src/limiter/limiter.ts", `import "../http/guard.ts"`, "Layer 4"],
  ["core/src/limiter/names.ts", `import "../index.ts"`, "Layer 4"],
  ["core/src/limiter/line/wait-queue.ts", `import "../../http/guard.ts"`, "Layer 4"],
  ["core/src/limiter/line/wait-queue.ts", `import "../../redis/index.ts"`, "Layer 4"],
  [
    "core/src/limiter/leases/lease-book.ts",
    `import "../../../../express/src/reject.ts"`,
    "Layer 4",
  ],
  [
    "core/src/limiter/outage/store-watch.ts",
    `import "../../store/store.ts"; import "../decider.ts"; import "../line/waiting-list.ts"; Date.now()`,
  ],
  [
    "core/src/limiter/names.ts",
    `import "../store/store.ts"; import "../key.ts"; import "./counters.ts"`,
  ],
  ["core/src/fleet/control/record.ts", `import "../../http/guard.ts"`, "Layer 4"],
  ["core/src/fleet/control/record.ts", `import "../../store/store.ts"`],
  ["core/src/store/decide.ts", `import "../fleet/control/record.ts"`, "Layer 3"],
  ["core/src/limiter/limiter.ts", `import "../fleet/control/record.ts"`],
  ["core/src/limiter/limiter.ts", `import "../operate/operate.ts"`, "Layer 4"],
  ["core/src/operate/operate.ts", `import "../limiter/limiter.ts"; import "../store/store.ts"`],
  ["core/src/operate/operate.ts", `import "../http/guard.ts"`, "Layer 5"],
  ["core/src/operate/operate.ts", `import "../index.ts"`, "Layer 5"],
  ["core/src/http/guard.ts", `import "../operate/operate.ts"`, "Layer 5"],
  ["core/src/http/guard.ts", `import "../index.ts"`, "Layer 5"],
  ["core/src/http/guard.ts", `import "../limiter/limiter.ts"; import "node:net"`],
  ["core/src/http/guard.ts", `import "@headgate/core"`, "relative path"],
  ["core/src/limiter/limiter.ts", `import "@headgate/core/redis"`, "relative path"],
  ["core/src/algorithms/gcra.ts", `import "@headgate/core/http"`, "relative path"],
  ["core/src/redis/redis-store.ts", `import "ioredis"`, "A Redis client"],
  ["core/src/limiter/limiter.ts", `import type { RedisClientType } from "redis"`, "A Redis client"],
  ["core/src/http/guard.ts", `import "@redis/client"`, "A Redis client"],
  ["express/src/index.ts", `import "iovalkey"`, "A Redis client"],
  ["breaker/src/create-breaker.ts", `import "@headgate/core/redis"`, "The breaker stands on"],
  ["breaker/src/create-breaker.ts", `import "@headgate/core"; import "@headgate/core/internal"`],
  ["breaker/src/call/made-call.ts", `import "@headgate/core/http"`, "The breaker stands on"],
  [
    "breaker/src/call/made-call.ts",
    `import "../../../core/src/errors.ts"`,
    "The breaker stands on",
  ],
  ["breaker/src/link/outbox.ts", `import "../machine/window.ts"; import "../breaker.ts"`],
  ["breaker/src/machine/period.ts", `import "../breaker.ts"`, "The machine decides"],
  ["breaker/src/machine/period.ts", `import "../link/view.ts"`, "The machine decides"],
  ["breaker/src/machine/period.ts", `import "@headgate/core"`, "The machine decides"],
  ["breaker/src/machine/period.ts", "export const now = Date.now()", "global variable Date"],
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
  ["core/src/http/guard.ts", `import "../../../express/src/reject.ts"`, "Layer 5"],
  ["core/src/redis/redis-store.ts", `import "redis5"; import "./topology.ts"`, "A Redis client"],
  ["core/src/limiter/limiter.ts", `import "../redis/topology.ts"`],
  ["core/src/http/guard.ts", `import "@valkey/valkey-glide"`, "A Redis client"],
  ["another/src/a/b/c.ts", `import "../../d.ts"`],
  ["another/src/a/b/c.ts", `import "../../../package.json"`, "by its name"],
  ["another/src/index.ts", `import "../dist/esm/index.js"`, "by its name"],
  ["core/src/time.ts", "export const now = Date.now()", "global variable Date"],
  ["core/src/policy.ts", "export const now = performance.now()", "global variable performance"],
  ["core/src/algorithms/gcra.ts", "export const now = Date.now()", "global variable Date"],
  ["core/src/algorithms/gcra.ts", `import "node:perf_hooks"`, "read no clock and do no I/O"],
  ["core/src/store/memory-store.ts", "export const now = Date.now() + performance.now()"],
  ["core/src/algorithms/gcra.test.ts", `import "../store/store.ts"; Date.now()`],
] as const;

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

describe("imports go down only", () => {
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
