import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { SendRequest } from "../support/send-request.ts";
import { createHttpClient } from "../support/send-request.ts";

/** The program of a package that brings one for each platform; undefined where it has none for this one. */
function programOf(name: string, packages: readonly string[], file: string): string | undefined {
  const own = createRequire(createRequire(import.meta.url).resolve(`${name}/package.json`));
  for (const one of packages) {
    try {
      const program = join(dirname(own.resolve(`${one}/package.json`)), file);
      if (existsSync(program)) return program;
    } catch {
      // It is for another platform.
    }
  }
  return undefined;
}

const { platform, arch } = process;
const cpu = arch === "arm64" ? "aarch64" : arch;
const RUNTIMES = [
  { name: "Node", program: process.execPath, args: [] },
  {
    name: "Bun",
    program: programOf("bun", [`@oven/bun-${platform}-${cpu}`], "bin/bun"),
    args: ["run"],
  },
  {
    name: "Deno",
    program: programOf(
      "deno",
      [`@deno/${platform}-${arch}-glibc`, `@deno/${platform}-${arch}`],
      "deno",
    ),
    args: ["run", "--allow-all", "--no-lock", "--node-modules-dir=manual", "--quiet"],
  },
];

describe.each(RUNTIMES)("$name", ({ name, program, args }) => {
  if (program === undefined) {
    const reason = `the package ${name.toLowerCase()} has no program for ${platform} ${arch}`;
    console.warn(`Hono is not tested on ${name}: ${reason}`);
    test.skip(reason, () => {});
    return;
  }

  let sendRequest: SendRequest;
  let port: number;
  let stop: () => Promise<void>;

  beforeAll(async () => {
    const child = spawn(program, [...args, join(import.meta.dirname, "application.mjs")], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, NODE_OPTIONS: "" },
    });
    const exited = once(child, "exit");
    port = await new Promise<number>((resolve, reject) => {
      createInterface(child.stdout).on("line", (line) => {
        const found = /^listening on http:\/\/127\.0\.0\.1:(\d+)$/.exec(line)?.[1];
        if (found !== undefined) resolve(Number(found));
      });
      exited.then(() => reject(new Error("it ended before it was listening")), reject);
    });
    const client = createHttpClient({ port });
    sendRequest = client.sendRequest;
    stop = async () => {
      await client.end();
      child.kill();
      await exited;
    };
  });
  afterAll(() => stop?.());

  const statusesOf = async (...paths: readonly string[]): Promise<number[]> => {
    const statuses: number[] = [];
    for (const path of paths) statuses.push((await sendRequest(path)).status);
    return statuses;
  };

  test("a request is counted by the address of the connection, and a denial has Retry-After", async () => {
    const first = await sendRequest("/plain");
    expect([first.status, first.json()]).toMatchObject([200, { allowed: true, remaining: 1 }]);
    expect(first.headers["ratelimit"]).toMatch(/^"2-per-1h";r=1;t=/);
    await sendRequest("/plain");
    const denied = await sendRequest("/plain");
    expect([denied.status, denied.json()]).toMatchObject([
      429,
      { "violated-policies": ["2-per-1h"] },
    ]);
    expect(denied.headers["content-type"]).toBe("application/problem+json");
    expect(denied.headers).toHaveProperty("retry-after");
  });

  test("only responses selected by count are charged", async () => {
    const fine = "/failed?status=200";
    const wrong = "/failed?status=404";
    // A response is settled when it has been sent, so the next request may come before.
    for (const [path, status] of [
      [fine, 200],
      [fine, 200],
      [wrong, 404],
      [fine, 429],
    ] as const) {
      await eventually(async () => expect((await sendRequest(path)).status).toBe(status));
    }
  });

  test("onDenied can respond, or let the request continue", async () => {
    await sendRequest("/own");
    const denied = await sendRequest("/own");
    expect([denied.status, denied.text]).toEqual([429, "no"]);
    expect(denied.headers).toHaveProperty("retry-after");
    await sendRequest("/allow");
    const allowed = await sendRequest("/allow");
    expect([allowed.status, allowed.text]).toEqual([200, "yes"]);
    expect(allowed.headers).not.toHaveProperty("retry-after");
  });

  test("requests wait in a queue", async () => {
    expect(await statusesOf("/turns", "/turns")).toEqual([200, 200]);
  });

  test("a slot is held until the response has been read", async () => {
    const first = sendRequest("/slow");
    await eventually(async () => expect((await sendRequest("/slow")).status).toBe(429));
    await sendRequest("/end");
    expect((await first).text).toBe("begun ended");
    await eventually(async () => {
      const next = sendRequest("/slow");
      await sendRequest("/end");
      expect((await next).status).toBe(200);
    });
  });

  const left = async () => (await sendRequest("/left")).json();

  test.each<["GET" | "HEAD", string, number, string]>([
    ["HEAD", "/text", 200, "to a HEAD request"],
    ["GET", "/nothing", 204, "without a body"],
    ["GET", "/dropped", 304, "that outer middleware drops"],
    ["GET", "/replaced", 404, "that outer middleware replaces"],
    ["GET", "/thrown", 500, "after which outer middleware throws"],
    ["GET", "/late", 504, "that comes after a timeout"],
    ["HEAD", "/late", 504, "to a HEAD request that comes after a timeout"],
  ])("%s %s, answered with %i: a response %s keeps no slot", async (method, path, status) => {
    for (let i = 0; i < 4; i += 1)
      expect((await sendRequest(path, { method })).status).toBe(status);
    await eventually(async () => expect(await left()).toMatchObject({ four: 4 }));
  });

  test("good requests by HEAD are not counted as failures", async () => {
    const fine = "/guess-right";
    for (let i = 0; i < 4; i += 1) await sendRequest(fine, { method: "HEAD" });
    await eventually(async () => expect((await sendRequest(fine)).status).toBe(200));
  });

  test("failed requests by HEAD set a block", async () => {
    for (let i = 0; i < 2; i += 1) await sendRequest("/guess", { method: "HEAD" });
    await eventually(async () => expect(await left()).toMatchObject({ blocked: true }));
  });

  test("the limits of a request may count slots", async () => {
    for (let i = 0; i < 4; i += 1) {
      await eventually(async () => expect((await sendRequest("/of-request")).status).toBe(200));
    }
  });

  test("the slot of a client that leaves in the middle of a response expires", async () => {
    for (let i = 0; i < 4; i += 1) {
      const socket = connect(port, "127.0.0.1");
      socket.write("GET /endless HTTP/1.1\r\nHost: here\r\n\r\n");
      await once(socket, "data");
      socket.resetAndDestroy();
    }
    await eventually(async () => expect(await left()).toMatchObject({ short: 4 }));
  });
});
