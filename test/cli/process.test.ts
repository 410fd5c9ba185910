import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { Server, Socket } from "node:net";
import { createServer } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { createAdmin } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROOT } from "../docs/markdown.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { onPath } from "../support/redis-binary.ts";
import { startRedis } from "../support/redis-process.ts";
import { waitUntil } from "../support/wait-until.ts";

const HEADGATE = join(ROOT, "packages/cli/dist/esm/headgate.js");
const START = join(ROOT, "examples/access-log/dist/start.js");

const own = useOwnRedis();

/** Accepts connections, and never responds. */
let silent: Server;
let at: string;

beforeAll(async () => {
  silent = createServer((socket) => socket.on("error", () => {})).listen(0, "127.0.0.1");
  await once(silent, "listening");
  at = `127.0.0.1:${(silent.address() as { port: number }).port}`;
});
afterAll(() => silent.close());

function start(...args: readonly string[]): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [HEADGATE, ...args]);
}

/** What a process prints until it ends. */
async function endOf(child: ChildProcessWithoutNullStreams) {
  const exit = once(child, "exit");
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [exitCode] = await exit;
  return { exitCode, stdout, stderr };
}

test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
  "%s ends the command with exit code 130, and closes its connection",
  async (signal) => {
    const child = start("limiters", "--redis", `redis://${at}`, "--timeout", "1m");
    const ending = endOf(child);
    const [socket] = (await once(silent, "connection")) as [Socket];
    child.kill(signal);
    child.kill(signal);
    expect(await ending).toEqual({ exitCode: 130, stdout: "", stderr: "headgate: interrupted\n" });
    if (!socket.closed) await once(socket.resume(), "close");
  },
);

/** A log of so many clients, one request each, all in one second. */
function logOf(clients: number): string {
  return Array.from(
    { length: clients },
    (_, i) =>
      `10.${i >> 16}.${(i >> 8) & 255}.${i & 255} - - [03/Mar/2026:06:00:00 +0000] "GET / HTTP/1.1" 200 5\n`,
  ).join("");
}

beforeAll(() => {
  const build = [join(ROOT, "scripts/build.mjs"), "examples/access-log"];
  expect(spawnSync(process.execPath, build).status).toBe(0);
});

test.each([
  ["headgate", [HEADGATE, "replay", "-", "--redis"]],
  ["start", [START, "--log", "-", "--redis"]],
])("a hangup of a replay by %s leaves no key in Redis", async (_, args) => {
  await own.client.flushall();
  const child = spawn(process.execPath, [...args, own.server.socket]);
  const ending = endOf(child);
  child.stdin.on("error", () => {});
  // Standard input stays open, so that the replay goes on.
  child.stdin.write(logOf(5_000));
  child.stdin.write(logOf(1).replace("06:00", "07:00").repeat(2_000));
  await waitUntil(
    "keys are there",
    20_000,
    async () => (await own.client.dbsize()) > 0 || undefined,
  );
  child.kill("SIGHUP");
  const { exitCode, stderr } = await ending;
  expect([exitCode, stderr]).toEqual([130, expect.stringMatching(/^\w+: interrupted\n$/)]);
  expect(await own.client.keys("*")).toEqual([]);
});

test("a replay with more clients than fit into memory evicts some, reports that, and goes on", async () => {
  const child = spawn(process.execPath, ["--max-old-space-size=64", HEADGATE, "replay", "-"]);
  const ending = endOf(child);
  child.stdin.end(logOf(40_000));
  const { exitCode, stdout, stderr } = await ending;
  expect([exitCode, stderr]).toEqual([
    0,
    expect.stringMatching(/ times, the count of a client started over\. /),
  ]);
  expect(stdout).toContain("40,000 requests of 40,000 clients");
});

test("the command prints no password if DEBUG is set", async () => {
  const env = { ...process.env, DEBUG: "*", REDISCLI_AUTH: "hush-hush" };
  const args = ["limiters", "--redis", `redis://${at}`, "--timeout", "500ms"];
  const { exitCode, stderr } = await endOf(spawn(process.execPath, [HEADGATE, ...args], { env }));
  expect(exitCode).toBe(3);
  expect(stderr).toMatch(/^headgate: .+\n$/);
  expect(stderr).not.toContain("hush-hush");
});

test("the process ends after its work even if its standard input is still open", async () => {
  const child = start("limiters", "--redis", own.server.socket, "--password-stdin");
  const ending = endOf(child);
  child.stdin.write("s3cret\n");
  expect((await ending).exitCode).toBe(0);
});

test("the command ends without an error if the reader of its output closes the pipe", async () => {
  const lines = Array.from({ length: 999 }, (_, i) => {
    const entry = { kind: "reset", limiter: `limiter-${i}`, reason: "r".repeat(900) };
    return `${String(1.7e15 + i)}${JSON.stringify(entry)}`;
  });
  await own.client.lpush("hg:{control}:actions", ...lines);
  const line = `"$0" "$1" log --limit 1000 --json --redis "$2"; echo "ended $?" >&2`;
  const { stdout, stderr } = spawnSync(
    "sh",
    ["-c", `{ ${line}; } | head -n 1`, process.execPath, HEADGATE, own.server.socket],
    { encoding: "utf8" },
  );
  expect([stdout, stderr]).toEqual(["{\n", "ended 0\n"]);
});

test("times are in UTC, and with --local in the time zone of the machine", async () => {
  const entry = { kind: "reset", limiter: "zone" };
  const at = 1_700_000_000_000;
  await own.client.lpush("hg:{control}:actions", `${at * 1_000}${JSON.stringify(entry)}`);
  const log = async (...options: readonly string[]) => {
    const env = { ...process.env, TZ: "Asia/Tokyo" };
    const args = [HEADGATE, "log", "--limiter", "zone", "--redis", own.server.socket, ...options];
    return (await endOf(spawn(process.execPath, args, { env }))).stdout;
  };
  expect(await log()).toContain("2023-11-14 22:13:20 UTC");
  expect(await log("--local")).toContain("2023-11-15 07:13:20 GMT+9");
});

test.skipIf(process.platform !== "linux")(
  "ps shows no password, not even one that was given in an argument (skipped where there is no /proc)",
  async () => {
    const child = start("limiters", "--redis", `redis://:s3cret@${at}`, "--timeout", "1m");
    const ending = endOf(child);
    await once(silent, "connection");
    const shown = readFileSync(`/proc/${child.pid}/cmdline`, "utf8");
    expect(shown.replaceAll("\0", "")).toBe("headgate");
    child.kill("SIGINT");
    expect((await ending).stderr).not.toContain("s3cret");
  },
);

test("an internal error is one line without a stack, with an exit code of its own", async () => {
  const script = `
    const { stringify } = JSON;
    JSON.stringify = (value, ...how) => {
      if (how.length > 0) throw new TypeError("oh");
      return stringify(value);
    };
    await import(${JSON.stringify(HEADGATE)});`;
  const args = ["--input-type=module", "-e", script, "headgate", "log", "--json"];
  const child = spawn(process.execPath, [...args, "--redis", own.server.socket]);
  const { exitCode, stderr } = await endOf(child);
  expect(exitCode).toBe(70);
  expect(stderr).toMatch(/^headgate: internal error, please report it with .*: oh\n$/);
});

const tmux = onPath("tmux");

describe.skipIf(tmux === undefined)("the command on a terminal (skipped without tmux)", () => {
  let terminals = 0;
  const run = (...args: readonly string[]): string => {
    const socket = `headgate-${process.pid}-${terminals}`;
    const { stdout } = spawnSync("tmux", ["-L", socket, "-f", "/dev/null", ...args], {
      encoding: "utf8",
      // Whoever runs the tests may not want colours.
      env: { ...process.env, NO_COLOR: "" },
    });
    return stdout;
  };

  afterAll(() => run("kill-server"));

  /** Runs a command in a terminal of 100 columns; its exit code is shown when it has ended. */
  function open(...args: readonly string[]): void {
    run("kill-server");
    terminals += 1;
    const line = [process.execPath, HEADGATE, ...args].map((word) => `'${word}'`).join(" ");
    run(...["new-session", "-d", "-x", "100", "-y", "30"], `${line}; echo "ended $?"; cat`);
  }

  /** What the terminal shows, once it shows some words. */
  const shows = (words: string, ...options: readonly string[]): Promise<string> =>
    waitUntil(`the terminal shows ${words}`, 20_000, () => {
      const shown = run("capture-pane", "-p", ...options);
      if (shown.includes(words)) return shown;
      throw new Error(shown);
    });

  test("asks for a password, and does not show it", async () => {
    const locked = await startRedis();
    const admin = new Redis(locked.socket);
    await admin.config("SET", "requirepass", "s3cret");
    admin.disconnect();
    open("limiters", "--redis", locked.socket, "--password-stdin");
    await shows("Password");
    run("send-keys", "-l", "s3cret");
    run("send-keys", "Enter");
    const shown = await shows("ended 0");
    expect(shown).toContain("no limiter is listed");
    expect(run("capture-pane", "-p", "-S", "-")).not.toContain("s3cret");
    expect(shown).not.toMatch(/[*•▪]/);
    await locked.stop();
  });

  test("ends with Ctrl-C at the password prompt, and while it waits for Redis", async () => {
    open("limiters", "--redis", `redis://${at}`, "--password-stdin");
    await shows("Password");
    run("send-keys", "C-c");
    expect(await shows("ended 130")).toContain("headgate: interrupted");
    open("limiters", "--redis", `redis://${at}`, "--timeout", "1m");
    await once(silent, "connection");
    run("send-keys", "C-c");
    expect(await shows("ended 130")).toContain("headgate: interrupted");
  });

  test("colours what needs attention, and fits the width of the terminal", async () => {
    await createAdmin(redisStore(own.client)).setOverride({ limiter: "api", shadow: true });
    open("limiters", "--redis", own.server.socket);
    const shown = await shows("ended 0", "-e");
    // An override that no process is known to apply.
    expect(shown).toContain("   in shadow mode   ");
    expect(shown).toContain("\u001b[31munknown: no process is");
    expect(shown).toContain(" \u001b[31mlisted");
  });
});
