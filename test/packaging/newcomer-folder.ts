import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { ROOT } from "../docs/markdown.ts";
import { freePort } from "../support/free-port.ts";
import { waitUntil } from "../support/wait-until.ts";

/** Packages that the commands of the pages fetch with npx, and that the workspace does not have. */
const FETCHED_VERSIONS: Readonly<Record<string, string>> = { tsx: "4.23.15" };

/** npm's errors without a registry: a network failure, or an unknown version of a package. */
const UNREACHABLE =
  /\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH)\b|Found: \S+@undefined/;

/** Long enough for any start on a busy machine. */
const WITHIN_MS = 40_000;

/** The output and the exit code of a command. */
interface Printed {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number | null;
}

/** A folder outside the workspace, where a newcomer installs the packages and follows the pages. */
export class NewcomerFolder {
  /** The path of the folder. */
  readonly dir: string = realpathSync(mkdtempSync(join(tmpdir(), "headgate-newcomer-")));
  readonly #env: NodeJS.ProcessEnv;
  readonly #endings: (() => Promise<void>)[] = [];

  /** `redisUrl` is what the newcomer has in `REDIS_URL`. */
  constructor(redisUrl: string) {
    const { NODE_OPTIONS, NODE_ENV, VITEST, ...env } = process.env;
    this.#env = { ...env, REDIS_URL: redisUrl, TZ: "UTC" };
  }

  /** Installs Headgate's packages from the tarballs, and others in the versions of this workspace. Rejects with npm's error. */
  async install(
    names: readonly string[],
    tarballs: Readonly<Record<string, string>>,
  ): Promise<void> {
    const others = names.filter((name) => !name.startsWith("@headgate/"));
    const specs = [...Object.values(tarballs), ...new Set(others.map(pinned))];
    const flags = "--no-audit --no-fund --prefer-offline --loglevel=error --fetch-retries=1";
    const { stderr, exitCode } = await this.run(`npm install ${flags} ${specs.join(" ")}`);
    if (exitCode === 0) return;
    if (!UNREACHABLE.test(stderr)) throw new Error(`npm install failed:\n${stderr}`);
    throw new Error("npm reaches no registry, which this test needs, as `pnpm install` does");
  }

  /** Writes a program, and starts it with the command of a page on a free port in place of 3000. Resolves with the port once it listens. */
  async start(task: string, file: string, program: string, command: string): Promise<number> {
    const dir = join(this.dir, task);
    mkdirSync(dir, { recursive: true });
    const port = await freePort();
    writeFileSync(join(dir, file), program.replaceAll("3000", String(port)));
    // npx and tsx start processes of their own. All of them end when their input does, which closes with this process, too.
    const child = spawn("/bin/sh", ["-c", `${command} & read -r _; kill -9 0`], {
      cwd: dir,
      env: this.#env,
      detached: true,
      stdio: ["pipe", "ignore", "ignore"],
    });
    const ended = once(child, "exit");
    this.#endings.push(async () => {
      child.stdin?.end();
      await ended;
    });
    await waitUntil(`${task}/${file} listens`, WITHIN_MS, async () => {
      const socket = connect(port, "127.0.0.1");
      await once(socket, "connect").finally(() => socket.destroy());
      return true;
    });
    return port;
  }

  /** Runs a line of a page in the shell. */
  async run(line: string): Promise<Printed> {
    const child = spawn("/bin/sh", ["-c", line], { cwd: this.dir, env: this.#env });
    child.stdin.end();
    const [stdout, stderr, [exitCode]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "exit"),
    ]);
    return { stdout, stderr, exitCode };
  }

  /** Ends all started processes, and removes the folder. */
  async remove(): Promise<void> {
    for (const end of this.#endings) await end();
    rmSync(this.dir, { recursive: true });
  }
}

/** Returns a package with the workspace's version. */
function pinned(name: string): string {
  const fetched = FETCHED_VERSIONS[name];
  if (fetched !== undefined) return `${name}@${fetched}`;
  const { version } = JSON.parse(
    readFileSync(join(ROOT, "node_modules", name, "package.json"), "utf8"),
  ) as { version: string };
  return `${name}@${version}`;
}
