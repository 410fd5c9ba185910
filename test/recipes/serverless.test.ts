import type { ChildProcess } from "node:child_process";
import { fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { redisStore } from "@headgate/core/redis";
import { Redis as Upstash } from "@upstash/redis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { codeIn, page, ROOT } from "../docs/markdown.ts";
import { ENDS_WITH_PARENT } from "../support/ends-with-parent.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { serve } from "../support/serve.ts";
import { useCompiledExample } from "./compile-example.ts";

const redis = useOwnRedis();
const handler = useCompiledExample("lambda/handler.ts");

/** Two instances, which live through all tests: each test is of another client, whose denials they do not remember. */
let one: Instance;
let other: Instance;
beforeAll(async () => {
  [one, other] = await Promise.all([startInstance(), startInstance()]);
});
afterAll(() => {
  for (const instance of [one, other]) instance?.process.kill("SIGKILL");
});

interface Instance {
  /** Calls the handler so many times at once; resolves with how many were answered with each status. */
  invoke(times: number, sourceIp: string): Promise<Record<number, number>>;
  readonly process: ChildProcess;
  /** Its stderr, such as warnings about an unreachable store. */
  readonly stderrLines: readonly string[];
}

/** An instance of the function, as the platform starts it. */
async function startInstance(): Promise<Instance> {
  const script = join(import.meta.dirname, "invoke.mjs");
  const child = fork(script, [handler], {
    env: { ...process.env, REDIS_URL: redis.server.socket },
    execArgv: [...ENDS_WITH_PARENT],
    silent: true,
  });
  const stderrLines: string[] = [];
  child.stderr?.on("data", (text) => stderrLines.push(String(text)));
  await once(child, "message");
  let calls = 0;
  const call = (sourceIp: string) =>
    new Promise<number>((answer) => {
      const id = calls;
      calls += 1;
      const listen = (message: { id: number; result: { statusCode: number } }): void => {
        if (message.id !== id) return;
        child.off("message", listen);
        answer(message.result.statusCode);
      };
      child.on("message", listen);
      child.send({ id, event: { requestContext: { http: { sourceIp } } } });
    });
  return {
    process: child,
    stderrLines,
    async invoke(times, sourceIp) {
      const counts: Record<number, number> = {};
      const answers = Array.from({ length: times }, () => call(sourceIp));
      for (const status of await Promise.all(answers)) counts[status] = (counts[status] ?? 0) + 1;
      return counts;
    },
  };
}

/** Freezes an instance until the limit's window is over, by the clock of Redis. */
async function freezeForAWindow({ process }: Instance): Promise<void> {
  process.kill("SIGSTOP");
  await delay(1_100);
}

function thaw({ process }: Instance): void {
  process.kill("SIGCONT");
}

/** Has instances use up a client's full limit of five at once: they admit no more than that, and what comes back meanwhile. */
async function useUp(client: string, ...instances: readonly Instance[]): Promise<void> {
  const start = performance.now();
  const counts = await Promise.all(instances.map(({ invoke }) => invoke(20, client)));
  const admitted = counts.reduce((sum, { 200: ok = 0 }) => sum + ok, 0);
  const comeBack = Math.floor((performance.now() - start) / 200);
  expect(admitted).toBeGreaterThanOrEqual(5);
  expect(admitted).toBeLessThanOrEqual(5 + comeBack);
}

test("instances count together, also at their first call", async () => {
  await useUp("203.0.113.1", one, other);
  expect([...one.stderrLines, ...other.stderrLines]).toEqual([]);
});

test("an instance that was frozen for longer than the window decides correctly right after it", async () => {
  await useUp("203.0.113.2", one);
  await freezeForAWindow(one);
  thaw(one);
  await useUp("203.0.113.2", one, other);
  expect([...one.stderrLines, ...other.stderrLines]).toEqual([]);
});

test("an instance whose connection was closed meanwhile decides correctly", async () => {
  await useUp("203.0.113.3", one);
  await freezeForAWindow(one);
  await redis.client.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
  thaw(one);
  await useUp("203.0.113.3", one);
  expect(one.stderrLines.join("")).not.toContain("HEADGATE_STORE_DOWN");
});

test("instances leave no entries in the registry", async () => {
  await one.invoke(1, "203.0.113.7");
  const keys = (await redis.scan()).map(String);
  expect(keys).toHaveLength(1);
  expect(keys[0]).toMatch(/^hg:\{203\.0\.113\.7\}:api:/);
});

test("an IPv6 client counts by its network, whichever of its addresses it uses", async () => {
  await one.invoke(1, "2001:db8:1:2::7");
  await one.invoke(1, "2001:db8:1:2:ffff::8");
  const keys = (await redis.scan()).map(String).filter((key) => key.includes("2001"));
  expect(keys).toHaveLength(1);
});

test("timers keep no process alive, but a call of wait does", () => {
  const script = `
    import { concurrency, createLimiter, gcra } from "@headgate/core";
    const limits = [gcra({ limit: 1, window: "1h" }), concurrency({ limit: 1, ttl: "1h" })];
    const limiter = createLimiter({ limits });
    const isKept = () => process.getActiveResourcesInfo().includes("Timeout");
    await limiter.consume("ada");
    console.log(isKept());
    const giveUp = new AbortController();
    const turn = limiter.wait("ada", { signal: giveUp.signal }).catch(() => {});
    await new Promise(setImmediate);
    console.log(isKept());
    giveUp.abort();
    await turn;
  `;
  const args = ["--input-type=module", "--eval", script];
  const ended = spawnSync(process.execPath, args, { cwd: ROOT, encoding: "utf8", timeout: 30_000 });
  expect([ended.status, ended.stdout, ended.stderr]).toEqual([0, "false\ntrue\n", ""]);
});

test("@upstash/redis is refused when the store is made, before any request", async () => {
  let requests = 0;
  const url = await serve((_, response) => {
    requests += 1;
    response.setHeader("content-type", "application/json").end('{"result":"PONG"}');
  });
  const client = new Upstash({ url, token: "secret", enableAutoPipelining: false });
  await client.ping();
  expect(requests).toBe(1);
  expect(() => redisStore(client as never)).toThrow(/REST client: use ioredis/);
  expect(requests).toBe(1);
});

/** What a built module and all that it imports of our own need from Node. */
function nodeModulesOf(file: string, seen: Set<string> = new Set()): Set<string> {
  const found = new Set<string>();
  if (seen.has(file)) return found;
  seen.add(file);
  const source = readFileSync(file, "utf8");
  for (const [, name = ""] of source.matchAll(/\brequire\("([^"]+)"\)/g)) {
    if (name.startsWith("node:")) found.add(name);
    const next = ourFile(name, file);
    if (next !== undefined) for (const other of nodeModulesOf(next, seen)) found.add(other);
  }
  return found;
}

/** Where a module of ours is built; undefined for the modules of others. */
function ourFile(name: string, from: string): string | undefined {
  if (name.startsWith(".")) return resolve(dirname(from), name);
  const [, dir, entry = "index"] = /^@headgate\/([a-z]+)(?:\/([a-z]+))?$/.exec(name) ?? [];
  if (dir === undefined) return undefined;
  return join(ROOT, `packages/${dir}/dist/${entry}.cjs`);
}

test("the page lists the Node modules that the entries need", () => {
  const text = page("docs/recipes/serverless.md").text.replaceAll(/\s+/g, " ");
  const [, modules = "", ofSome = "", ofAdapters = ""] =
    /in every entry: (.+?)\. .+? also need (.+?), and the adapters (.+?)\./.exec(text) ?? [];
  const core = codeIn(modules);
  const some = [...core, ...codeIn(ofSome)];
  const adapters = [...core, ...codeIn(ofAdapters)];
  const listed: Readonly<Record<string, readonly string[]>> = {
    "@headgate/core": core,
    "@headgate/core/redis": some,
    "@headgate/breaker": some,
    "@headgate/core/http": adapters,
    "@headgate/express": adapters,
    "@headgate/fastify": adapters,
  };
  expect([some.length, adapters.length]).toEqual([6, 6]);
  for (const [entry, modules] of Object.entries(listed)) {
    const needed = nodeModulesOf(ourFile(entry, "") as string);
    expect([entry, modules.toSorted()]).toEqual([
      entry,
      [...needed].map((name) => name.slice(5)).sort(),
    ]);
  }
});
