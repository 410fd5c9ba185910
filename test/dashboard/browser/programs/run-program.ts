import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";

const WITH_PARENT = join(import.meta.dirname, "../../../support/end-with-parent.mjs");

/** Runs an application on the built packages until the test ends; resolves with the URLs that it prints. */
export async function runProgram(path: string, ...args: string[]): Promise<readonly string[]> {
  // Without the repository's own export condition, so that the built packages are loaded and not the sources.
  const env = { ...process.env, NODE_OPTIONS: "" };
  const child = spawn(process.execPath, ["--import", WITH_PARENT, path, ...args], {
    stdio: ["ignore", "pipe", "inherit", "ipc"],
    env,
  });
  const exit = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exit;
  });
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const line = await Promise.race([
    once(lines, "line").then(([first]) => String(first)),
    exit.then(([code]) => {
      throw new Error(`${path} ended with ${code}`);
    }),
  ]);
  return JSON.parse(line) as readonly string[];
}
