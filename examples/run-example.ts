import { spawn } from "node:child_process";
import { once } from "node:events";
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

/** Runs a server that an example is, on a free port, as long as `use` takes. */
export async function withServer(path: string, use: (url: string) => Promise<void>): Promise<void> {
  const example = spawnExample(path, { PORT: "0" });
  const exited = once(example, "exit");
  try {
    await use(await listeningUrl(createInterface(example.stdout), path));
  } finally {
    example.kill();
    await exited;
  }
}

/** What a server prints when it is ready: `listening on http://...`. */
async function listeningUrl(lines: AsyncIterable<string>, path: string): Promise<string> {
  for await (const line of lines) {
    const url = /^listening on (http:\S+)$/.exec(line)?.[1];
    if (url !== undefined) return url;
  }
  throw new Error(`${path} ended before it was listening`);
}
