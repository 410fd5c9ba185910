import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** A directory with the consumers' files, and the packed packages in its node_modules. */
    consumer: string;
    /** The packed packages, by name. */
    tarballs: Readonly<Record<string, string>>;
  }
}

const root = join(import.meta.dirname, "../..");

/** The dependencies of the consumers and the packages, and the folders of the workspace that have them. */
const DEPENDENCIES = {
  "@fastify/type-provider-typebox": ".",
  "@opentelemetry/api": ".",
  "@shopify/admin-api-client": ".",
  "@types/express": ".",
  "@types/node": ".",
  express: ".",
  express4: ".",
  fastify: ".",
  "fastify-plugin": "packages/fastify",
  hono: ".",
  "@nestjs/common": ".",
  "@nestjs/core": ".",
  "@nestjs/platform-express": ".",
  "@nestjs/websockets": ".",
  "reflect-metadata": ".",
  rxjs: ".",
  ioredis: ".",
  openai: ".",
  "prom-client": ".",
  "cluster-key-slot": "packages/core",
  "lru-cache": "packages/core",
} as const;

/** Packs the packages as for a release, and installs them outside the workspace. */
export default function setup(project: TestProject): () => void {
  const dir = mkdtempSync(join(tmpdir(), "headgate-consumer-"));
  const [command, ...pnpm] = pnpmCommand();
  execFileSync(
    command,
    [...pnpm, "-r", "--filter", "./packages/*", "pack", "--pack-destination", dir],
    { cwd: root, stdio: ["ignore", "ignore", 2] },
  );
  const tarballs: Record<string, string> = {};
  for (const file of readdirSync(dir)) {
    const name = /^headgate-([a-z]+)-.*\.tgz$/.exec(file)?.[1];
    if (name === undefined) continue;
    tarballs[name] = join(dir, file);
    const target = join(dir, "node_modules/@headgate", name);
    mkdirSync(target, { recursive: true });
    execFileSync("tar", ["-xzf", join(dir, file), "-C", target, "--strip-components=1"]);
  }
  for (const [name, owner] of Object.entries(DEPENDENCIES)) {
    const link = join(dir, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(root, owner, "node_modules", name), link);
  }
  cpSync(join(import.meta.dirname, "consumer"), dir, { recursive: true });
  // A second copy, as for a dependency of the consumer.
  const packages = join("node_modules", "@headgate");
  cpSync(join(dir, packages), join(dir, "other", packages), { recursive: true });
  project.provide("consumer", dir);
  project.provide("tarballs", tarballs);
  return () => rmSync(dir, { recursive: true });
}

/** Returns the pnpm that runs this script, or otherwise the workspace's version through npx. */
function pnpmCommand(): [command: string, ...args: string[]] {
  const running = process.env["npm_execpath"];
  if (running?.endsWith("pnpm.cjs")) return [process.execPath, running];
  const { packageManager } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return ["npx", "-y", packageManager.split("+")[0]];
}
