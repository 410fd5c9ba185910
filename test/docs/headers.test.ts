import { once } from "node:events";
import { createServer, get } from "node:http";
import type { AddressInfo } from "node:net";
import { redisStore } from "@headgate/core/redis";
import { byHeader, gcra, memoryStore, rateLimit } from "@headgate/express";
import express from "express";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { blocksOf, codeIn, page, section, tablesOf } from "./markdown.ts";

interface Answer {
  readonly status: string;
  /** The header values, by names in their original case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

const app = express().disable("etag");

app.get("/free", (_, res) => {
  res.json({});
});
app.use(
  "/limited",
  rateLimit({
    name: "api",
    limits: gcra({ limit: 5, window: "1m" }),
    // The pages show numbers of requests at one moment.
    store: memoryStore({ clock: () => 1_800_000_000_000 }),
  }),
);
app.use(
  "/draft-6",
  rateLimit({
    name: "draft-6",
    limits: gcra({ limit: 5, window: "1m" }),
    store: memoryStore({ clock: () => 1_800_000_000_000 }),
    headers: { legacy: "ratelimit" },
  }),
);
app.use(
  "/missing",
  rateLimit({
    limits: gcra({ limit: 5, window: "1m" }),
    key: byHeader("x-key"),
    missingKey: "reject",
  }),
);
app.use("/waiting", rateLimit({ limits: gcra({ limit: 1, window: "1m" }), wait: 1 }));
// Nothing listens on this address.
const redis = new Redis("/nowhere/redis.sock");
redis.on("error", () => {});
app.use(
  "/away",
  rateLimit({
    name: "away",
    limits: gcra({ limit: 5, window: "1m" }),
    store: redisStore(redis),
    onUnavailable: "deny",
  }),
);
app.get(["/limited", "/draft-6"], (_, res) => {
  res.json({});
});

const server = createServer(app);
const answers: Record<
  "free" | "first" | "draft6" | "denied" | "missing" | "waited" | "away",
  Answer
> = {} as never;

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  answers.free = await send("/free");
  answers.first = await send("/limited");
  answers.draft6 = await send("/draft-6");
  for (let i = 0; i < 4; i += 1) await send("/limited");
  answers.denied = await send("/limited");
  answers.missing = await send("/missing");
  await send("/waiting");
  answers.waited = await send("/waiting");
  answers.away = await send("/away");
});

afterAll(() => {
  redis.disconnect();
  server.close();
});

async function send(path: string): Promise<Answer> {
  const { port } = server.address() as AddressInfo;
  const [message] = await once(get({ host: "127.0.0.1", port, path, agent: false }), "response");
  let body = "";
  for await (const chunk of message) body += chunk;
  const headers = new Map<string, string>();
  for (let i = 0; i < message.rawHeaders.length; i += 2) {
    headers.set(message.rawHeaders[i], message.rawHeaders[i + 1]);
  }
  return { status: `${message.statusCode} ${message.statusMessage}`, headers, body };
}

/** Returns the headers that an answer without a limiter does not have. */
function added({ headers }: Answer): string[] {
  return [...headers.keys()].filter((name) => !answers.free.headers.has(name));
}

describe("the responses on the pages are real", () => {
  const [first, draft6] = blocksOf([page("docs/how-to/public-api.md")], "http");
  const [inReadme] = blocksOf([page("README.md")], "http");
  const [inStart] = blocksOf([page("docs/start/index.md")], "http");

  test.each([
    { where: "docs/how-to/public-api.md", which: "first", shown: first },
    { where: "docs/how-to/public-api.md, of draft 6", which: "draft6", shown: draft6 },
    { where: "README.md", which: "denied", shown: inReadme },
    { where: "docs/start/index.md", which: "denied", shown: inStart },
  ] as const)("in $where", ({ which, shown }) => {
    const [head = "", body] = shown?.text.split("\n\n") ?? [];
    const [status, ...lines] = head.trimEnd().split("\n");
    const answer = answers[which];
    expect(status).toBe(`HTTP/1.1 ${answer.status}`);
    const headers = lines.map((line) => line.split(": ", 2) as [string, string]);
    for (const [name, value] of headers)
      expect([name, answer.headers.get(name)]).toEqual([name, value]);
    for (const name of added(answer))
      expect(headers.map(([shownName]) => shownName)).toContain(name);
    if (body !== undefined) expect(body.trimEnd()).toBe(answer.body);
  });

  test("the problem document of docs/how-to/public-api.md", () => {
    const [problem] = blocksOf([page("docs/how-to/public-api.md")], "json");
    expect(JSON.parse(problem?.text ?? "")).toEqual(JSON.parse(answers.denied.body));
  });

  test("the problem document of a 503, with its headers", () => {
    const [, problem] = blocksOf([page("docs/how-to/public-api.md")], "json");
    expect(answers.away.status).toBe("503 Service Unavailable");
    expect(JSON.parse(problem?.text ?? "")).toEqual(JSON.parse(answers.away.body));
    expect(answers.away.headers.get("Retry-After")).toBe("1");
    expect(added(answers.away).sort()).toEqual(["Cache-Control", "Retry-After"]);
  });
});

test("docs/how-to/public-api.md lists exactly the headers that are sent", () => {
  const [table] = tablesOf(section(page("docs/how-to/public-api.md"), "All headers"));
  const sent = new Set([
    ...added(answers.first),
    ...added(answers.denied),
    ...added(answers.missing),
    ...added(answers.waited),
    "Content-Type",
  ]);
  expect(answers.denied.headers.get("Content-Type")).toBe("application/problem+json");
  expect(answers.missing.headers.get("Content-Type")).toBe("application/problem+json");
  expect(new Set(table?.rows.flatMap(([name = ""]) => codeIn(name)))).toEqual(sent);
});
