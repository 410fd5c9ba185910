import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { createLimiter, gcra } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { afterEach, expect, test, vi } from "vitest";
import { run } from "../../packages/cli/src/run.ts";

import { writeRegistry } from "../support/write-registry.ts";
import { useHeadgate } from "./actions/use-headgate.ts";

const redis = useHeadgate();
const urlOf = () => `redis://127.0.0.1:${redis.server.port}`;
const ended: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const end of ended.splice(0)) await end();
  vi.unstubAllEnvs();
});

/** Starts the command, and resolves with its link; `end` is Ctrl-C, and resolves with the exit code. */
const start = (...args: string[]) => startWith(["--redis", urlOf(), "--no-open", ...args]);

async function startWith(args: readonly string[]) {
  const interruption = new AbortController();
  const stdout = new PassThrough({ encoding: "utf8" });
  const code = run(["dashboard", ...args], {
    environment: {},
    stdin: new PassThrough().end(),
    stdout,
    stderr: new PassThrough().resume(),
    signal: interruption.signal,
  });
  const end = () => {
    interruption.abort();
    return code;
  };
  ended.push(end);
  const line = once(stdout, "data") as Promise<[string]>;
  const [link] = await Promise.race([line, code.then((early) => Promise.reject(early))]);
  return { link: new URL(link.trim()), end };
}

/** Opens a link as a browser does, and returns its cookie and the URL of the page. */
async function signIn(link: URL) {
  const { status, headers } = await fetch(link, { redirect: "manual" });
  expect(status).toBe(200);
  const given = headers.get("set-cookie") ?? "";
  const [, cookie = "", path] =
    /^([^;]+); HttpOnly; SameSite=Strict; Path=(\/[\w-]{43})$/.exec(given) ?? [];
  expect(headers.get("refresh")).toBe(`0; url=${path}/`);
  return { cookie, page: new URL(`${path}/`, link) };
}

function get(page: URL, path: string, headers: Record<string, string> = {}) {
  return fetch(new URL(path, page), { headers });
}

/** `fetch` does not let a host be set. */
function statusFor(page: URL, host: string, cookie: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(new URL("api/session", page), { headers: { host, cookie } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on("error", reject)
      .end();
  });
}

test("the link of headgate dashboard signs one browser in, once", async () => {
  const { link } = await start("--by", "ann");
  const { cookie, page } = await signIn(link);
  expect((await get(page, "api/session")).status).toBe(403);
  const session = await get(page, "api/session", { cookie });
  expect(session.status).toBe(200);
  expect(await session.json()).toMatchObject({ by: "ann", prefix: "hg" });
  expect((await fetch(link, { redirect: "manual" })).status).toBe(403);
  expect((await get(page, "api/session", { cookie: `${cookie}x` })).status).toBe(403);
  expect((await get(link, "/sign-in?token=")).status).toBe(403);
});

test("headgate dashboard finds a subject in the limiters of the registry", async () => {
  const store = redisStore(redis.client);
  const limiter = createLimiter({ name: "api", limits: gcra({ limit: 1, window: "1h" }), store });
  await limiter.consume("user-1");
  await writeRegistry(store);
  const { link } = await start();
  const { cookie, page } = await signIn(link);
  const headers = { cookie, "content-type": "application/json", "sec-fetch-site": "same-origin" };
  const body = JSON.stringify({ subject: "user-1", kind: "text" });
  const response = await fetch(new URL("api/subject", page), { method: "POST", headers, body });
  expect(await response.json()).toMatchObject({ limiters: [{ name: "api" }] });
  await limiter.close();
});

test("headgate dashboard --read-only permits no action", async () => {
  const { link } = await start("--read-only");
  const { cookie, page } = await signIn(link);
  const session = await get(page, "api/session", { cookie });
  expect(await session.json()).toMatchObject({ by: null, actions: [] });
});

test("headgate dashboard responds 421 to a foreign host name that resolves to this machine", async () => {
  const { link } = await start();
  const { cookie, page } = await signIn(link);
  expect(await statusFor(page, "evil.example", cookie)).toBe(421);
  expect(await statusFor(page, `evil.example:${link.port}`, cookie)).toBe(421);
  expect(await statusFor(page, `localhost:${link.port}`, cookie)).toBe(200);
});

test("each headgate dashboard has a random path, which other servers of this host cannot know", async () => {
  const [one, other] = [await signIn((await start()).link), await signIn((await start()).link)];
  expect(one.page.pathname).not.toBe(other.page.pathname);
  const { cookie, page } = one;
  for (const path of ["/", "/api/session", other.page.pathname]) {
    expect((await get(page, path, { cookie })).status).toBe(404);
  }
});

test.each(["//", "///", "//[/", "http://", "http://[", "/%", "*"])(
  "headgate dashboard keeps running after a request for the target %s",
  async (target) => {
    const { link } = await start();
    const status = await new Promise((resolve, reject) => {
      request({ port: link.port, path: target, headers: { host: link.host } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on("error", reject)
        .end();
    });
    expect([400, 404]).toContain(status);
    await signIn(link);
  },
);

test.skipIf(process.platform !== "linux")(
  "headgate dashboard passes the link to the browser in a file of this user, not in an argument (the opener is that of Linux)",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "opener-"));
    const opened = join(folder, "opened");
    const script = `#!/bin/sh\nfile="\${1#file://}"\nstat -c %a "$file" > ${opened}.mode\ncp "$file" ${opened}.page\necho "$*" > ${opened}.new && mv ${opened}.new ${opened}\n`;
    await writeFile(join(folder, "xdg-open"), script, { mode: 0o700 });
    vi.stubEnv("PATH", `${folder}:${process.env["PATH"]}`);
    const { link } = await startWith(["--redis", urlOf()]);
    await expect.poll(() => existsSync(opened)).toBe(true);
    const argument = readFileSync(opened, "utf8").trim();
    const file = fileURLToPath(argument);
    expect(argument).not.toContain(link.searchParams.get("token"));
    expect(readFileSync(`${opened}.mode`, "utf8").trim()).toBe("600");
    expect(readFileSync(`${opened}.page`, "utf8")).toContain(`url=${link.href}`);
    expect(existsSync(file)).toBe(true);
    await signIn(link);
    await expect.poll(() => existsSync(file)).toBe(false);
    await rm(folder, { recursive: true });
  },
);

test("Ctrl-C ends headgate dashboard", async () => {
  const { link, end } = await start();
  expect(await end()).toBe(0);
  await expect(fetch(link)).rejects.toThrow();
});

test("headgate dashboard reports a port that is in use or invalid", async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  const { port } = taken.address() as AddressInfo;
  expect(await fail(`${port}`)).toMatch(/cannot listen on 127\.0\.0\.1:\d+: .*EADDRINUSE/);
  expect(await fail("http")).toBe("headgate: --port must be a number from 0 to 65535, got http\n");
  taken.close();
});

async function fail(port: string): Promise<string> {
  const stderr = new PassThrough({ encoding: "utf8" });
  const streams = { stdin: new PassThrough().end(), stdout: new PassThrough().resume(), stderr };
  const { signal } = new AbortController();
  const args = ["dashboard", "--redis", urlOf(), "--no-open", "--port", port];
  expect(await run(args, { environment: {}, ...streams, signal })).toBe(2);
  return stderr.read() as string;
}
