import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { blocksOf, page } from "../docs/markdown.ts";
import { freePort } from "../support/free-port.ts";
import type { RedisProcess } from "../support/redis-process.ts";
import { startRedis } from "../support/redis-process.ts";
import type { Ended } from "./run-cli.ts";
import { runCli } from "./run-cli.ts";

const SECRET = "s3cret/@:%";
const ESCAPED = encodeURIComponent(SECRET);

let server: RedisProcess;
let admin: Redis;
let at: string;
const dir = mkdtempSync(join(tmpdir(), "headgate-cli-"));

beforeAll(async () => {
  server = await startRedis({ port: true });
  admin = new Redis(server.socket);
  at = `redis://127.0.0.1:${server.port}`;
  const [reader = ""] = blocksOf([page("docs/how-to/operate.md")], "text")
    .map(({ text }) => text.trim())
    .filter((text) => text.startsWith("ACL SETUSER headgate-reader "));
  const [command = "", ...acl] = reader.replace(">secret", `>${SECRET}`).split(" ");
  await admin.call(command, ...acl);
  await admin.config("SET", "requirepass", SECRET);
});

afterAll(async () => {
  admin.disconnect();
  await server.stop();
  rmSync(dir, { recursive: true });
});

function file(name: string, text: string, mode: number): string {
  const path = join(dir, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

/** What every connection that comes about ends in: nothing is listed here. */
function expectConnected({ exitCode, stdout, stderr }: Ended): void {
  expect([exitCode, stdout]).toEqual([0, ""]);
  expect(stderr.split("\n").at(-2)).toContain("no limiter is listed with the prefix hg");
  expect(stderr).not.toContain(SECRET);
}

/** One line that says what to do, and holds no secret. */
function expectFailure({ exitCode, stdout, stderr }: Ended, code: number, words: string): void {
  expect([stdout, stderr]).toEqual(["", expect.stringMatching(/^headgate: .+\n$/)]);
  expect(stderr).toContain(words);
  expect(exitCode).toBe(code);
  for (const secret of [SECRET, ESCAPED, "headgate-reader"]) expect(stderr).not.toContain(secret);
}

describe("the password of a connection", () => {
  test("is read from the first line of standard input with --password-stdin", async () => {
    const input = `${SECRET}\nwhat comes after\n`;
    expectConnected(await runCli(["limiters", "--redis", at, "--password-stdin"], { input }));
  });

  test("is read from REDISCLI_AUTH, as redis-cli does", async () => {
    const environment = { REDIS_URL: at, REDISCLI_AUTH: SECRET };
    expectConnected(await runCli(["limiters"], { environment }));
  });

  test("is read from the URL in the environment, in a file or, with a warning, in an argument", async () => {
    const url = at.replace("://", `://:${ESCAPED}@`);
    expectConnected(await runCli(["limiters"], { environment: { REDIS_URL: url } }));
    const path = file("url", `${url}\n`, 0o600);
    expectConnected(await runCli(["limiters", "--redis-file", path]));
    const warned = await runCli(["limiters", "--redis", url]);
    expectConnected(warned);
    expect(warned.stderr).toMatch(/^headgate: warning: the password in --redis .*--redis-file/);
  });

  test("may belong to a user who may only read", async () => {
    const args = ["limiters", "--redis", at, "--user", "headgate-reader", "--password-stdin"];
    expectConnected(await runCli(args, { input: SECRET }));
  });

  test("is an error that says what to do if it is missing or wrong", async () => {
    expectFailure(
      await runCli(["limiters", "--redis", at]),
      3,
      "requires a password: give it with",
    );
    const environment = { REDISCLI_AUTH: "wrong" };
    const wrong = await runCli(["limiters", "--redis", at], { environment });
    expectFailure(wrong, 3, "the user or the password is wrong");
    const empty = await runCli(["limiters", "--redis", at, "--password-stdin"]);
    expectFailure(empty, 2, "standard input has no password in its first line");
  });

  test("does not help a user without permission: the error names the missing command or prefix", async () => {
    const args = ["log", "--redis", at, "--user", "headgate-reader"];
    await admin.call("ACL", "SETUSER", "headgate-reader", "-lrange");
    const environment = { REDISCLI_AUTH: SECRET };
    expectFailure(await runCli(args, { environment }), 3, "may not run LRANGE");
    await admin.call("ACL", "SETUSER", "headgate-reader", "-eval");
    expectFailure(await runCli(args, { environment }), 3, "may not run EVAL");
    await admin.call("ACL", "SETUSER", "headgate-reader", "+lrange", "+eval");
    const foreign = await runCli([...args, "--prefix", "other"], { environment });
    expectFailure(foreign, 3, "may not access keys with this prefix");
  });
});

describe("the URL of a connection", () => {
  test("may be the path of a socket", async () => {
    const environment = { REDISCLI_AUTH: SECRET };
    for (const url of [server.socket, `unix://${server.socket}?db=1`]) {
      expectConnected(await runCli(["limiters", "--redis", url], { environment }));
    }
  });

  test("may contain a database number, and a number that does not exist is an error", async () => {
    const environment = { REDISCLI_AUTH: SECRET };
    expectConnected(await runCli(["limiters", "--redis", `${at}/15`], { environment }));
    const missing = await runCli(["limiters", "--redis", `${at}/16`], { environment });
    expectFailure(missing, 3, "no database with this number");
  });

  test.each(["http://x", "redis:/x", "redis://h:99999", "redis://h/x", "redis://%zz@h", "x"])(
    "is rejected without repeating it: %s",
    async (url) => {
      const failed = await runCli(["limiters", "--redis", url.replace("//", "//:s3cret@")]);
      expectFailure(failed, 2, "--redis is not a Redis URL: give redis://HOST:PORT/DATABASE");
      expect(failed.stderr).not.toContain("s3cret");
    },
  );

  test("may be in a file that only its owner can read", async () => {
    const open = file("open", at, 0o640);
    const args = (path: string) => ["limiters", "--redis-file", path];
    expectFailure(await runCli(args(open)), 2, `run chmod 600 ${open}`);
    expectFailure(await runCli(args(dir)), 2, "is not a regular file");
    expectFailure(await runCli(args(join(dir, "none"))), 2, "there is no such file");
    const link = join(dir, "link");
    symlinkSync(file("strict", at, 0o400), link);
    const environment = { REDISCLI_AUTH: SECRET };
    expectConnected(await runCli(args(link), { environment }));
    expectConnected(await runCli(args(file("again", at, 0o600)), { environment }));
  });
});

test("options that exclude each other, or have a wrong value, are an error", async () => {
  const both = ["limiters", "--redis", at];
  const words: readonly (readonly [readonly string[], string])[] = [
    [["--redis-file", "x"], "--redis"],
    [["--cacert", "x"], "begin the URL with rediss://"],
    [["--cluster", "--sentinel", "x"], "exclude each other"],
    [["--timeout", "5"], "--timeout must be a time from 1ms to 1m"],
    [["--timeout", "2m"], "--timeout must be a time from 1ms to 1m"],
    [["--prefix", "a b"], "--prefix must be"],
  ];
  for (const [args, message] of words) expectFailure(await runCli([...both, ...args]), 2, message);
  const socket = await runCli(["limiters", "--redis", server.socket, "--cluster"]);
  expectFailure(socket, 2, "a unix socket connects to one server only");
});

describe("the error for a server that cannot be reached", () => {
  test("says that nothing listens on the port or socket", async () => {
    const url = `redis://127.0.0.1:${await freePort()}`;
    expectFailure(await runCli(["limiters", "--redis", url]), 3, "nothing listens there");
    const socket = await runCli(["limiters", "--redis", join(dir, "none.sock")]);
    expectFailure(socket, 3, "there is no such socket");
  });

  test("says that the host does not exist", async () => {
    const failed = await runCli(["limiters", "--redis", "redis://none.invalid"]);
    expectFailure(failed, 3, "there is no such host");
  });

  test("says that the server does not answer in time", async () => {
    const frozen = await startRedis({ port: true });
    frozen.freeze();
    const url = `redis://127.0.0.1:${frozen.port}`;
    const failed = await runCli(["limiters", "--redis", url, "--timeout", "200ms"]);
    expectFailure(failed, 3, "does not answer: check host, port and firewall");
    frozen.thaw();
    await frozen.stop();
  });

  test.each([
    ["closes the connection", "", "closes the connection: if it requires TLS"],
    ["is another program", "HTTP/1.1 400 Bad Request\r\n\r\n", "is not Redis"],
    ["is loading", "-LOADING Redis is loading the dataset in memory\r\n", "still loading"],
    ["has lost its primary", "-MASTERDOWN Link with MASTER is down\r\n", "lost its primary"],
    ["is full", "-ERR max number of clients reached\r\n", "raise maxclients"],
    [
      "is in protected mode",
      "-DENIED Redis is running in protected mode because protected mode is enabled and no password is set\r\n",
      "protected mode refuses other machines",
    ],
    ["quotes a user", "-ERR User s3cret-user of client\r\n", "this user of client"],
  ])("says what to do if the server %s", async (_, answer, words) => {
    const other = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => socket.end(answer));
    }).listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as { port: number };
    const failed = await runCli(["limiters", "--redis", `redis://127.0.0.1:${port}`]);
    other.close();
    expectFailure(failed, 3, words);
    expect(failed.stderr).not.toContain("s3cret");
  });

  const outside = Object.values(networkInterfaces())
    .flat()
    .find((one) => one?.internal === false && one.family === "IPv4")?.address;

  test.skipIf(outside === undefined)(
    "says that the server's protected mode refuses other machines (skipped if this machine has only a loopback address)",
    async () => {
      const args = ["--bind", "*", "--protected-mode", "yes"];
      const guarded = await startRedis({ port: true, args });
      const failed = await runCli(["limiters", "--redis", `redis://${outside}:${guarded.port}`]);
      expectFailure(failed, 3, "protected mode refuses other machines");
      await guarded.stop();
    },
  );
});

test("an interruption ends the wait for a server, and closes the connection", async () => {
  const silent = createServer(() => {}).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as { port: number };
  const controller = new AbortController();
  const { CommandError } = await import("../../packages/cli/src/command/command-error.ts");
  const running = runCli(["limiters", "--redis", `redis://127.0.0.1:${port}`], {
    signal: controller.signal,
  });
  const [socket] = await once(silent, "connection");
  controller.abort(new CommandError("interrupted", 130));
  expectFailure(await running, 130, "interrupted");
  if (!socket.closed) await once(socket.resume(), "close");
  silent.close();
});
