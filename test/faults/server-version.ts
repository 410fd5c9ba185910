import { execFileSync } from "node:child_process";
import { findRedisServer } from "../support/redis-binary.ts";

/** Of the servers that the suite starts, such as "Redis server v=7.0.15". */
export function serverVersion(): string {
  const words = execFileSync(findRedisServer() as string, ["--version"], { encoding: "utf8" });
  return words.split(" ").slice(0, 3).join(" ");
}
