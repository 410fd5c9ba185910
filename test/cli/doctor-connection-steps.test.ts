import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../support/free-port.ts";
import type { RedisProcess } from "../support/redis-process.ts";
import { startRedis } from "../support/redis-process.ts";
import { waitUntil } from "../support/wait-until.ts";
import { expectDocument } from "./json-schema.ts";
import type { Ended } from "./run-cli.ts";
import { runCli } from "./run-cli.ts";
import { issuesOf, paste, runDoctor } from "./run-doctor.ts";

/** Node's code for a warning that TLS has no server name for an address. */
const SERVER_NAME_IS_ADDRESS = "DEP0123";

let server: RedisProcess;
let admin: Redis;
let at: string;

beforeAll(async () => {
  server = await startRedis({ port: true, args: ["--busy-reply-threshold", "100"] });
  admin = new Redis(server.socket);
  at = `redis://127.0.0.1:${server.port}`;
});
afterAll(async () => {
  admin.disconnect();
  await server.stop();
});

/** The steps as they are printed, without the time that they took. */
function stepsOf({ stdout }: Ended): readonly string[] {
  return stdout
    .replace(/[\d.]+ ms/g, "0 ms")
    .trimEnd()
    .split("\n");
}

describe("headgate doctor without a connection to Redis", () => {
  test("shows a closed port as a failed connection step", async () => {
    const port = await freePort();
    const ended = await runCli(["doctor", "--redis", `redis://127.0.0.1:${port}`]);
    expect(stepsOf(ended)).toEqual([
      "✓ ok      name        127.0.0.1 is an IP address",
      `✗ failed  connection  connect ECONNREFUSED 127.0.0.1:${port}`,
    ]);
    expect(ended.exitCode).toBe(3);
    expect(ended.stderr).toMatch(/^headgate: cannot .*\n$/);
  });

  test("shows an unknown host as a failed name step", async () => {
    const ended = await runCli(["doctor", "--redis", "redis://no-such-host.invalid:6379"]);
    expect(stepsOf(ended)).toEqual([expect.stringMatching(/^✗ failed {2}name {8}getaddrinfo E/)]);
    expect(ended.exitCode).toBe(3);
  });

  test("shows a port without TLS as a failed TLS step", async () => {
    const url = `rediss://127.0.0.1:${server.port}`;
    // Other files of this process may warn of other things meanwhile.
    const warnings: string[] = [];
    const note = (warning: Error & { readonly code?: string }) => {
      if (warning.code === SERVER_NAME_IS_ADDRESS) warnings.push(warning.message);
    };
    process.on("warning", note);
    const ended = await runCli(["doctor", "--redis", url, "--timeout", "200ms"]);
    process.off("warning", note);
    expect(warnings).toEqual([]);
    expect(stepsOf(ended)).toEqual([
      "✓ ok      name        127.0.0.1 is an IP address",
      `✓ ok      connection  127.0.0.1:${server.port} accepts connections, after 0 ms`,
      "✗ failed  tls         no answer within 2 s: the server may not use TLS",
    ]);
    expect(ended.exitCode).toBe(3);
  });

  test("shows a wrong password as a failed Redis step, without the password", async () => {
    const environment = { REDIS_URL: at.replace("//", "//app:s3cret@") };
    const ended = await runCli(["doctor"], { environment });
    expect(stepsOf(ended).slice(0, 2)).toEqual([
      "✓ ok      name        127.0.0.1 is an IP address",
      `✓ ok      connection  127.0.0.1:${server.port} accepts connections, after 0 ms`,
    ]);
    expect(stepsOf(ended)[2]).toMatch(/^✗ failed {2}redis {7}cannot use Redis at /);
    expect(ended.exitCode).toBe(3);
    expect(ended.stdout + ended.stderr).not.toMatch(/s3cret|app/);
  });

  test("shows a frozen server as a failed Redis step", async () => {
    server.freeze();
    const ended = await runCli(["doctor", "--redis", at, "--timeout", "200ms"]);
    server.thaw();
    expect(stepsOf(ended).slice(1)).toEqual([
      `✓ ok      connection  127.0.0.1:${server.port} accepts connections, after 0 ms`,
      expect.stringMatching(/^✗ failed {2}redis {7}.* it does not answer: /),
    ]);
    expect(ended.exitCode).toBe(3);
  });

  test("prints the steps as JSON", async () => {
    const port = await freePort();
    const { stdout } = await runCli(["doctor", "--json", "--redis", `redis://127.0.0.1:${port}`]);
    expect(expectDocument("doctor", stdout)).toMatchObject({
      steps: [
        { name: "name", succeeded: true },
        { name: "connection", succeeded: false },
      ],
    });
  });
});

test("headgate doctor prints the command that kills a script that does not end", async () => {
  const running = new Redis(server.socket);
  const ended = running.eval("while true do end", 0).catch((error: Error) => error.message);
  await waitUntil("the server is busy", 5_000, async () =>
    admin.ping().then(
      () => undefined,
      ({ message }: Error) => message.startsWith("BUSY") || undefined,
    ),
  );
  const busy = await runDoctor(at);
  expect(busy.exitCode).toBe(1);
  expect(busy.statuses["busy-scripts"]).toBe("problem");
  await paste(busy.worst("busy-scripts").commands);
  expect(await ended).toContain("Script killed");
  running.disconnect();
  expect(issuesOf(await runDoctor(at))).toEqual([]);
});
