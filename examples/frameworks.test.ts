import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RunningServer } from "./run-example.ts";
import { startServer } from "./run-example.ts";

/** The examples of frameworks that have no adapter of their own, and what has each trust a proxy on this machine. */
const FRAMEWORKS = [
  { example: "node-http", proxy: { PROXIES: "127.0.0.1" } },
  { example: "koa", proxy: { PROXY: "1" } },
  { example: "hono", proxy: { PROXIES: "127.0.0.1" } },
  { example: "nestjs", proxy: { PROXIES: "127.0.0.1" } },
  { example: "route-handlers", proxy: { ADDRESS_HEADER: "x-real-ip" } },
] as const;

let clients = 0;

/** The address of a client that has asked nothing yet. */
function newAddress(): string {
  clients += 1;
  return `10.1.${clients >> 8}.${clients & 255}`;
}

/** What a proxy sends on for a client, which made up an address of its own each time. */
function forwardedFor(address: string): Record<string, string> {
  const madeUp = `198.51.100.${Math.floor(Math.random() * 250)}`;
  return { "x-forwarded-for": `${madeUp}, ${address}`, "x-real-ip": address };
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

async function ask(url: string, headers: Record<string, string>): Promise<Answer> {
  const response = await fetch(url, { headers });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

async function askOften(
  count: number,
  url: string,
  headersOf: () => Record<string, string>,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let i = 0; i < count; i += 1) answers.push(await ask(url, headersOf()));
  return answers;
}

const statusesOf = (answers: readonly Answer[]): number[] => answers.map(({ status }) => status);

describe.each(FRAMEWORKS)("$example", ({ example, proxy }) => {
  // Handlers of Request have no response of Node's.
  const counts = example !== "route-handlers";

  let server: RunningServer;
  beforeAll(async () => {
    server = await startServer(`${example}/server.mjs`, proxy);
  });
  afterAll(() => server.stop());

  test("counts each client down, and denies with a problem and the time to wait", async () => {
    const address = newAddress();
    const answers = await askOften(6, `${server.url}/`, () => forwardedFor(address));
    expect(statusesOf(answers)).toEqual([200, 200, 200, 200, 200, 429]);
    const remaining = answers.map(({ headers }) => headers.get("x-ratelimit-remaining"));
    expect(remaining).toEqual(["4", "3", "2", "1", "0", "0"]);
    const [first, , , , , denied] = answers;
    expect(first?.headers.get("ratelimit-policy")).toBe('"5-per-1m";q=5;w=60');
    expect(first?.headers.get("ratelimit")).toBe('"5-per-1m";r=4;t=12');
    expect(first?.headers.has("retry-after")).toBe(false);
    expect(denied?.headers.get("content-type")).toBe("application/problem+json");
    expect(JSON.parse(denied?.text ?? "")).toMatchObject({
      status: 429,
      "violated-policies": ["5-per-1m"],
    });
    expect(["11", "12"]).toContain(denied?.headers.get("retry-after"));
    expect(denied?.headers.get("cache-control")).toBe("no-store");
    // Others have their own.
    expect((await ask(`${server.url}/`, forwardedFor(newAddress()))).status).toBe(200);
  });

  test("has a route limit and a global limit, and reports both", async () => {
    const address = newAddress();
    const answers = await askOften(3, `${server.url}/search`, () => forwardedFor(address));
    expect(statusesOf(answers)).toEqual([200, 200, 429]);
    for (const { headers } of answers) {
      const policy = '"5-per-1m";q=5;w=60, "2-per-1m";q=2;w=60';
      expect(headers.get("ratelimit-policy")).toBe(policy);
    }
    expect(answers[1]?.headers.get("ratelimit")).toMatch(/^"5-per-1m";r=3;.*"2-per-1m";r=0;/);
    expect(JSON.parse(answers[2]?.text ?? "")).toMatchObject({
      "violated-policies": ["2-per-1m"],
    });
    expect((await ask(`${server.url}/`, forwardedFor(address))).status).toBe(200);
  });

  test("counts by a header, and rejects requests without it", async () => {
    const withKey = (key: string) => ({ ...forwardedFor(newAddress()), "x-api-key": key });
    const url = `${server.url}/reports`;
    const answers = await askOften(4, url, () => withKey("one"));
    expect(statusesOf(answers)).toEqual([200, 200, 200, 429]);
    expect((await ask(url, withKey("two"))).status).toBe(200);
    const refused = await ask(url, forwardedFor(newAddress()));
    expect(refused.status).toBe(400);
    expect(refused.headers.get("content-type")).toBe("application/problem+json");
  });

  test("passes errors of a key function to the framework", async () => {
    const url = `${server.url}/account`;
    const failed = await ask(url, { ...forwardedFor(newAddress()), "x-api-key": "made-up" });
    expect(failed.status).toBe(example === "route-handlers" ? 500 : 401);
    expect(failed.text).toContain("no such key");
    expect(failed.headers.get("content-type")).not.toBe("application/problem+json");
    const known = await ask(url, { ...forwardedFor(newAddress()), "x-api-key": "ada-key" });
    expect(known.status).toBe(200);
  });

  test.skipIf(!counts)("counts failures only, if configured", async () => {
    const address = newAddress();
    const statuses = [];
    for (const of of ["ada", "ada", "nobody", "nobody"]) {
      const { status } = await ask(`${server.url}/coupon?of=${of}`, forwardedFor(address));
      statuses.push(status);
    }
    expect(statuses).toEqual([200, 200, 404, 404]);
    const guesser = newAddress();
    const guesses = await askOften(4, `${server.url}/coupon?of=nobody`, () =>
      forwardedFor(guesser),
    );
    expect(statusesOf(guesses)).toEqual([404, 404, 404, 429]);
  });

  test.skipIf(!counts)("lets requests wait, if configured", async () => {
    const address = newAddress();
    const answers = await askOften(2, `${server.url}/prices`, () => forwardedFor(address));
    expect(statusesOf(answers)).toEqual([200, 200]);
    const timings = answers[1]?.headers.get("server-timing");
    expect(timings).toMatch(
      example === "hono" ? /^app;dur=0\.1, headgate;dur=\d+\.\d$/ : /^headgate;dur=\d+\.\d$/,
    );
  });

  test("does not affect routes without a limit", async () => {
    const address = newAddress();
    const answers = await askOften(9, `${server.url}/health`, () => forwardedFor(address));
    expect(new Set(statusesOf(answers))).toEqual(new Set([200]));
    expect(answers[0]?.headers.has("ratelimit")).toBe(false);
  });

  test("survives clients that disconnect", async () => {
    const { port } = new URL(server.url);
    for (let i = 0; i < 20; i += 1) {
      const socket = connect(Number(port), "127.0.0.1");
      await once(socket, "connect");
      const headers = Object.entries(forwardedFor(newAddress())).map(
        ([name, value]) => `${name}: ${value}`,
      );
      socket.write(`GET /search HTTP/1.1\r\nhost: x\r\n${headers.join("\r\n")}\r\n\r\n`);
      if (i % 2 === 0) socket.resetAndDestroy();
      else socket.destroy();
    }
    const address = newAddress();
    const answers = await askOften(3, `${server.url}/search`, () => forwardedFor(address));
    expect(statusesOf(answers)).toEqual([200, 200, 429]);
  });
});

test.each(FRAMEWORKS.filter(({ example }) => example !== "route-handlers"))(
  "$example trusts no header unless it is told to",
  async ({ example }) => {
    // Headgate warns of it, as it should.
    const server = await startServer(`${example}/server.mjs`, { NODE_NO_WARNINGS: "1" });
    try {
      const forged = () => ({ ...forwardedFor(newAddress()), "cf-connecting-ip": newAddress() });
      const answers = await askOften(6, `${server.url}/`, forged);
      expect(statusesOf(answers)).toEqual([200, 200, 200, 200, 200, 429]);
    } finally {
      await server.stop();
    }
  },
);

test("hono sends Retry-After also for unknown routes", async () => {
  const server = await startServer("hono/server.mjs");
  try {
    const answers = await askOften(6, `${server.url}/nowhere`, () => ({}));
    expect(statusesOf(answers)).toEqual([404, 404, 404, 404, 404, 429]);
    expect(Object.fromEntries(answers[5]?.headers ?? [])).toMatchObject({
      "retry-after": "12",
      "cache-control": "no-store",
      ratelimit: '"5-per-1m";r=0;t=12',
      "content-type": "application/problem+json",
    });
  } finally {
    await server.stop();
  }
});

test("route-handlers has no client address unless configured, and says so", async () => {
  const server = await startServer("route-handlers/server.mjs");
  try {
    const answer = await ask(`${server.url}/`, forwardedFor(newAddress()));
    expect(answer.status).toBe(500);
    expect(answer.text).toContain("rateLimit: a request has no client address");
  } finally {
    await server.stop();
  }
});

describe("nestjs", () => {
  let server: RunningServer;
  beforeAll(async () => {
    server = await startServer("nestjs/server.mjs", { PROXIES: "127.0.0.1" });
  });
  afterAll(() => server.stop());

  type Extensions = Readonly<Record<string, unknown>>;

  interface Result {
    readonly data: Readonly<Record<string, string | null>>;
    readonly errors?: readonly { readonly path: string[]; readonly extensions: Extensions }[];
  }

  async function query(address: string, text: string): Promise<Result> {
    const response = await fetch(`${server.url}/graphql`, {
      method: "POST",
      headers: { ...forwardedFor(address), "content-type": "application/json" },
      body: JSON.stringify({ query: text }),
    });
    return (await response.json()) as Result;
  }

  test("limits each field of a GraphQL query separately", async () => {
    const address = newAddress();
    const search = 'search(text: "tea")';
    const first = await query(address, `{ a: ${search} b: ${search} c: ${search} }`);
    expect(Object.values(first.data).filter((found) => found === null)).toHaveLength(1);
    expect(first.errors).toMatchObject([
      {
        message: "Too Many Requests",
        extensions: { code: "RATE_LIMITED", status: 429, "violated-policies": ["2-per-1m"] },
      },
    ]);
    const retryAfterMs = first.errors?.[0]?.extensions["retryAfterMs"];
    expect(retryAfterMs).toBeGreaterThan(29_000);
    expect(retryAfterMs).toBeLessThanOrEqual(30_000);
    const second = await query(address, `{ ${search} }`);
    expect(second.data).toEqual({ search: null });
    expect((await query(newAddress(), `{ ${search} }`)).errors).toBeUndefined();
  });

  test("counts fields and requests under the global limit", async () => {
    const address = newAddress();
    const aliases = Array.from({ length: 5 }, (_, i) => `_${i}: search(text: "tea")`);
    await query(address, `{ ${aliases.join(" ")} }`);
    expect((await ask(`${server.url}/`, forwardedFor(address))).status).toBe(429);
  });
});
