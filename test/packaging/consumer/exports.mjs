// Prints the names that each entry exports, after comparing the ES module with the CommonJS module: the same objects.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const names = {};
for (const name of [
  "core",
  "express",
  "fastify",
  "hono",
  "nestjs",
  "breaker",
  "fetch",
  "shed",
  "telemetry",
  "dashboard",
]) {
  const manifest = new URL(`node_modules/@headgate/${name}/package.json`, import.meta.url);
  const { exports } = JSON.parse(readFileSync(manifest, "utf8"));
  for (const path of Object.keys(exports).filter((path) => path !== "./package.json")) {
    const entry = `@headgate/${name}${path.slice(1)}`;
    const [imported, required] = [await import(entry), require(entry)];
    names[entry] = Object.keys(imported).sort();
    assert.deepEqual(Object.keys(required).sort(), names[entry], entry);
    for (const name of names[entry]) assert.equal(imported[name], required[name], name);
  }
}
console.log(JSON.stringify(names));
