import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";

const PACKAGES = [
  "ioredis",
  "redis5",
  "redis",
  "fastify",
  "express",
  "express-rate-limit",
  "rate-limit-redis",
  "@fastify/rate-limit",
  "rate-limiter-flexible",
  "hono",
  "@hono/node-server",
  "hono-rate-limiter",
  "@nestjs/core",
  "@nestjs/throttler",
  "@valkey/valkey-glide",
];

/** The machine and the versions of a measurement. */
export async function readMachine() {
  const [, redis = ""] =
    /v=(\S+)/.exec(execFileSync("redis-server", ["--version"], { encoding: "utf8" })) ?? [];
  return {
    processor: `${cpus()[0]?.model.trim()}, ${availableParallelism()} cores`,
    node: `Node ${process.versions.node}`,
    redis: `Redis ${redis} over TCP on loopback`,
    packages: PACKAGES.map((name) => `${name.replace("redis5", "redis")} ${versionOf(name)}`).join(
      ", ",
    ),
  };
}

function versionOf(name) {
  const manifest = new URL(`../../node_modules/${name}/package.json`, import.meta.url);
  return JSON.parse(readFileSync(manifest, "utf8")).version;
}
