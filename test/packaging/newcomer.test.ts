import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { startGitHub } from "../../examples/providers/github.mjs";
import type { Page } from "../docs/markdown.ts";
import { page, ROOT, section } from "../docs/markdown.ts";
import type { RedisProcess } from "../support/redis-process.ts";
import { startRedis } from "../support/redis-process.ts";
import { waitUntil } from "../support/wait-until.ts";
import { NewcomerFolder } from "./newcomer-folder.ts";

const START = page("docs/start/index.md");
const SHARED = page("docs/start/with-redis.md");
const LOGIN = page("docs/recipes/login.md");
const MOVE = page("docs/moving/from-express-rate-limit.md");
const WHY = page("docs/how-to/why-429.md");
const CALLS = page("docs/how-to/call-another-api.md");

/** The first text of a page that a pattern finds. */
function found({ path, text }: Pick<Page, "path" | "text">, pattern: RegExp): string {
  const [, first] = pattern.exec(text) ?? [];
  if (first === undefined) throw new Error(`${path} has no ${pattern}`);
  return first;
}

/** The first program of a page in a language, or under a name of its tabs. */
function program({ path, text }: Page, fence: string): string {
  const [, rest] = text.split(`\`\`\`${fence}\n`);
  if (rest === undefined) throw new Error(`${path} has no block ${fence}`);
  return rest.split("\n```")[0] as string;
}

/** Returns the packages that a page tells its reader to install: the first tab, for Express. */
const toInstall = (of: Page) => found(of, /npm install ([@\w/ -]+)/).split(" ");

const startsLogin = found(LOGIN, /Start it with `([^`]+)`/);
const moved = program(MOVE, "ts [express-rate-limit]");

let redis: RedisProcess;
let folder: NewcomerFolder;
/** The port of the application of the start pages, which registers itself ten seconds later. */
let sharedPort: number;

beforeAll(async () => {
  redis = await startRedis({ port: true });
  folder = new NewcomerFolder(`redis://127.0.0.1:${redis.port}`);
  const imported = [...moved.matchAll(/from "([^"]+)"/g)].map(([, name = ""]) => name);
  const fetched = startsLogin.split(" ")[1] ?? "";
  const names = [START, SHARED, LOGIN, MOVE, WHY, CALLS].flatMap(toInstall);
  await folder.install([...names, ...imported, fetched], tarballsOf(names));
  // On a slow machine a minute's limit has room again before the command looks, and Redis is late for the first answer.
  const server = program(SHARED, "js [Express]")
    .replace('window: "1m"', 'window: "1h"')
    .replace("limits:", 'storeTimeout: "10s", limits:');
  sharedPort = await folder.start("why", "server.mjs", server, found(START, /\n(node .+)\n/));
}, 180_000);

afterAll(async () => {
  await folder.remove();
  await redis.stop();
}, 60_000);

/** Returns the tarballs of the installed packages and of their Headgate dependencies. */
function tarballsOf(names: readonly string[]): Record<string, string> {
  const all = inject("tarballs");
  const ours = names.filter((name) => name.startsWith("@headgate/"));
  const wanted = new Set([
    ...ours.map((name) => name.slice("@headgate/".length)),
    "core",
    "breaker",
    "dashboard",
    "replay",
  ]);
  return Object.fromEntries([...wanted].map((name) => [name, all[name] as string]));
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The answers that `curl -i` prints, one after the other. */
function answersIn(printed: string): Answer[] {
  return printed.split(/(?=HTTP\/1\.1 \d)/).map((text) => {
    const [head = "", ...body] = text.trimEnd().split(/\r?\n\r?\n/);
    const [first = "", ...lines] = head.split(/\r?\n/);
    const pairs = lines.map((line) => line.split(/: (.*)/).slice(0, 2) as [string, string]);
    return {
      status: Number(first.split(" ")[1]),
      headers: Object.fromEntries(pairs.map(([name, value]) => [name.toLowerCase(), value])),
      body: body.join("\n\n"),
    };
  });
}

/** Seconds until a time differ by how long the requests took. */
const withoutSeconds = (value: string) => value.replace(/(^|t=)\d+/g, "$1N");

/** Expects an answer to contain everything that the page shows. Seconds may be a few less than those shown. */
function expectShown(answer: Answer, shown: Answer): void {
  expect([answer.status, answer.body]).toEqual([shown.status, shown.body]);
  const headers = Object.keys(shown.headers).map((name) => [name, answer.headers[name] ?? ""]);
  const inBoth = headers.map(([name = "", value = ""]) => [name, withoutSeconds(value)]);
  const expected = Object.entries(shown.headers);
  expect(inBoth).toEqual(expected.map(([name, value]) => [name, withoutSeconds(value)]));
  const most = Number(shown.headers["retry-after"]);
  expect(Number(answer.headers["retry-after"])).toBeGreaterThanOrEqual(most - 10);
  expect(Number(answer.headers["retry-after"])).toBeLessThanOrEqual(most);
}

test("a newcomer limits a login: guesses are denied, and the right password from elsewhere passes", async () => {
  const [, example = "", file = ""] =
    /save \[the whole program\]\(\.\.\/\.\.\/([^)]+)\) as\s`([^`]+)`/.exec(LOGIN.text) ?? [];
  const whole = readFileSync(join(ROOT, example), "utf8");
  const port = await folder.start("login", file, whole, startsLogin);
  const behaves = { ...LOGIN, text: section(LOGIN, "How it behaves") };
  const lines = program(behaves, "sh").replaceAll("3000", String(port));
  const { stdout } = await folder.run(lines);
  const [denied] = answersIn(stdout.slice(stdout.indexOf("HTTP/")));
  expect(stdout.split("HTTP/")[0]).toBe("401\n".repeat(5));
  expectShown(denied as Answer, answersIn(program(behaves, "http"))[0] as Answer);

  // As the page says below its answer: from another address, and at another account.
  const last = lines.slice(lines.lastIndexOf("\ncurl"));
  const elsewhere = `${last} -H 'x-forwarded-for: 198.51.100.7'`;
  const other = last.replace("ada@", "grace@").replace("lovelace", "hopper");
  for (const line of [elsewhere, other]) {
    const [answer] = answersIn((await folder.run(line)).stdout);
    expect(answer?.status).toBe(200);
    expect(answer?.body).toContain("welcome");
  }
});

test("a newcomer moves from express-rate-limit: the same requests get the same responses", async () => {
  const command = found(MOVE, /start it with `([^`]+)`/);
  const curl = found(MOVE, /`(curl [^`]+)`/);
  const sides: Answer[][] = [];
  for (const text of [moved, program(MOVE, "ts [Headgate]")]) {
    const port = await folder.start(`move-${sides.length}`, "server.mjs", text, command);
    sides.push(answersIn((await folder.run(`${curl} -s`.replace("3000", String(port)))).stdout));
  }
  const [before = [], after = []] = sides;
  expect(before.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429]);
  expect(after.map(({ status }) => status)).toEqual(before.map(({ status }) => status));
  const same = [...found(MOVE, /and send the same([^.]+)\./).matchAll(/`([^`]+)`/g)];
  expect(same.length).toBe(3);
  for (const [, name = ""] of same) {
    const values = (side: readonly Answer[]) =>
      side.map(({ headers }) => headers[name.toLowerCase()]);
    if (name !== "Retry-After") expect(values(after)).toEqual(values(before));
  }
  for (const { headers } of [before[5], after[5]] as Answer[]) {
    expect(Number(headers["retry-after"])).toBeGreaterThan(50);
    expect(Number(headers["retry-after"])).toBeLessThanOrEqual(60);
  }
});

test("a newcomer finds out why a client gets 429: the response names the limit, and the command the reason and the end", async () => {
  const client = new Redis(redis.port);
  await waitUntil("the application has listed itself", 30_000, async () =>
    (await client.exists("hg:{registry}")) === 1 ? true : undefined,
  ).finally(() => client.disconnect());
  const curl = `curl -si "http://127.0.0.1:${sharedPort}/?[1-6]"`;
  const denied = answersIn((await folder.run(curl)).stdout).at(-1) as Answer;
  expect(program(WHY, "http")).toBe(program(START, "http"));
  const [shown] = answersIn(program(WHY, "http")) as [Answer];
  expect(denied.status).toBe(shown.status);
  expect(Object.keys(denied.headers)).toEqual(expect.arrayContaining(Object.keys(shown.headers)));
  const violated = "violated-policies";
  const document = JSON.parse(denied.body);
  expect(document).toEqual({ ...JSON.parse(shown.body), [violated]: ["5-per-1h"] });
  const [limit] = document[violated];
  const passesAt = Date.now() + Number(denied.headers["retry-after"]) * 1_000;

  // The commands of the page, about this limiter and this client.
  const typed = (command: string) =>
    `npx ${found(WHY, new RegExp(`\\$ (headgate ${command}.*)\\n`))}`
      .replace(/--ip \S+/, "--ip 127.0.0.1")
      .replace("orders", "api");
  const limiters = await folder.run(typed("limiters"));
  expect(limiters.stdout).toMatch(/^api +5 per 1h/m);
  const explained = await folder.run(typed("explain"));
  expect(explained.stdout).toContain("api: 127.0.0.1 would be denied now");
  expect(explained.stdout).toContain(`${limit} decides`);
  // Matches the time in the response to the second.
  const said = new Date(
    /it will be allowed at (\S+ \S+ [\w+:-]+),/.exec(explained.stdout)?.[1] ?? "",
  );
  expect(Math.abs(said.getTime() - passesAt)).toBeLessThanOrEqual(10_000);
  expect(explained.exitCode).toBe(1);
  expect(explained.stdout).toContain(`${limit}: 5 of 5 used; fully recovers at`);
});

test("a newcomer calls an API from three processes: they share its budget, wait for the next one, and lose no call", async () => {
  const [budget, calls] = [20, 15];
  const api = await startGitHub({ limit: budget, windowMs: 1_000, latencyMs: 10 });
  onTestFinished(() => api.stop());
  // The page's program, with the address, the budget and the Redis of this test; windows of the mock API take up to a second longer.
  const replaced = [
    ["https://api.github.com", api.url],
    ["limit: 5_000", `limit: ${budget}`],
    ['window: "1h"', 'window: "2s"'],
    ["new Redis()", `new Redis("redis://127.0.0.1:${redis.port}")`],
    ["limits:", 'storeTimeout: "10s", limits:'],
  ] as const;
  const crawl = replaced.reduce(
    (text, [from, to]) => {
      expect(text).toContain(from);
      return text.replaceAll(from, to);
    },
    program(CALLS, "ts"),
  );
  const repositories = JSON.stringify(Array.from({ length: calls }, (_, i) => `acme/${i}`));
  const rest = `\nconsole.log((await Promise.all(${repositories}.map(stars))).join(" "));\nprocess.exit();\n`;
  writeFileSync(join(folder.dir, "crawl.mts"), crawl + rest);
  const printed = await Promise.all([1, 2, 3].map(() => folder.run("npx tsx crawl.mts")));
  for (const { stdout, stderr } of printed) {
    // Settings of pnpm are in the environment of its scripts, and npx warns of those that npm does not know.
    const errors = stderr.replaceAll(/^npm warn .*\n/gm, "");
    expect([stdout, errors]).toEqual([`${Array(calls).fill(3).join(" ")}\n`, ""]);
  }
  const answered = api.arrivals.filter(({ status }) => status === 200);
  expect(answered).toHaveLength(3 * calls);
  expect(api.arrivals.length - answered.length).toBeLessThanOrEqual(budget);
});
