import { readFileSync } from "node:fs";
import { join } from "node:path";

const MODULES = join(import.meta.dirname, "../../../node_modules");

const PACKAGES = [
  "express-rate-limit",
  "rate-limit-redis",
  "@fastify/rate-limit",
  "rate-limiter-flexible",
  "ioredis",
  "redis",
];

/** What the comparison ran with, such as "ioredis 6.0.0". */
export function peerVersions(): string[] {
  return PACKAGES.map((name) => `${name} ${versionOf(name)}`);
}

function versionOf(name: string): string {
  const file = join(MODULES, name, "package.json");
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
