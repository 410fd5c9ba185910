import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Interface } from "node:readline";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

type Environment = Readonly<Record<string, string>>;

/** Starts an example with an inherited stderr, so that what goes wrong is seen. */
function spawnExample(path: string, environment: Environment) {
  return spawn(process.execPath, [fileURLToPath(new URL(path, import.meta.url))], {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "inherit"],
  });
}

/** Runs an example to its end; resolves with what it printed. Rejects when it failed. */
export async function runExample(path: string, environment: Environment = {}): Promise<string> {
  const example = spawnExample(path, environment);
  const [output, [code]] = await Promise.all([text(example.stdout), once(example, "exit")]);
  if (code !== 0) throw new Error(`${path} ended with ${code}: ${output}`);
  return output;
}

export interface RunningServer {
  readonly url: string;
  /** All lines it has printed so far. */
  readonly printed: readonly string[];
  stop(): Promise<void>;
}

/** Starts a server that an example is, on a free port. */
export async function startServer(
  path: string,
  environment: Environment = {},
): Promise<RunningServer> {
  const example = spawnExample(path, { ...environment, PORT: "0" });
  const exited = once(example, "exit");
  const stop = async (): Promise<void> => {
    example.kill();
    await exited;
  };
  const printed: string[] = [];
  const lines = createInterface(example.stdout).on("line", (line) => printed.push(line));
  try {
    return { url: await listeningUrl(lines, path), printed, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Runs a server that an example is, on a free port, as long as `use` takes, which gets all lines it has printed so far. */
export async function withServer(
  path: string,
  use: (url: string, printed: readonly string[]) => Promise<void>,
  environment: Environment = {},
): Promise<void> {
  const { url, printed, stop } = await startServer(path, environment);
  try {
    await use(url, printed);
  } finally {
    await stop();
  }
}

/** What a server prints when it is ready: `listening on http://...`. */
async function listeningUrl(lines: Interface, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    lines.on("line", (line) => {
      const url = /^listening on (http:\S+)$/.exec(line)?.[1];
      if (url !== undefined) resolve(url);
    });
    lines.on("close", () => reject(new Error(`${path} ended before it was listening`)));
  });
}
