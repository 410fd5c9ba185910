import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findRedisServer } from "../support/redis-binary.ts";

const MODULES = join(import.meta.dirname, "../../node_modules");

/** Returns the versions under test, such as "Redis server v=7.0.15, Node 20.20.2, ioredis 6.0.0". */
export function describeVersions(packages: readonly string[]): string {
  const words = execFileSync(findRedisServer() as string, ["--version"], { encoding: "utf8" });
  const server = words.split(" ").slice(0, 3).join(" ");
  const versions = packages.map((name) => `${name} ${versionOf(name)}`);
  return [server, `Node ${process.versions.node}`, ...versions].join(", ");
}

function versionOf(name: string): string {
  const text = readFileSync(join(MODULES, name, "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
