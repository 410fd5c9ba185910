import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { CHANNELS, concurrency, createLimiter } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import headgate, { gcra } from "@headgate/fastify";
import Fastify from "fastify";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Warning } from "../http/support/framework.ts";
import { collectWarnings } from "../http/support/warnings.ts";
import type { RedisProcess } from "../support/redis-process.ts";
import { startRedis } from "../support/redis-process.ts";
import { waitUntil } from "../support/wait-until.ts";
import { blocksOf, codeIn, page, section, tablesOf } from "./markdown.ts";

interface LogLine {
  readonly level: number;
  readonly code?: string;
  readonly msg: string;
  readonly err?: { readonly code: string };
}

const LOG = page("docs/understand/when-redis-fails.md");
const EVENTS = page("docs/reference/events.md");
const limits = gcra({ limit: 5, window: "1m" });

/** The records of an outage: log lines, warnings, and messages on the channels. */
const log: LogLine[] = [];
let warnings: readonly Warning[] = [];
const published = new Map<string, object[]>();

let server: RedisProcess;
const stops: (() => unknown)[] = [];

beforeAll(async () => {
  server = await startRedis();
  for (const name of Object.values(CHANNELS)) {
    const listen = (message: unknown): void => {
      published.set(name, [...(published.get(name) ?? []), message as object]);
    };
    subscribe(name, listen);
    stops.push(() => unsubscribe(name, listen));
  }
  const collected = collectWarnings();
  warnings = collected.warnings;
  stops.push(collected.stop);
  const write = (line: string): void => void log.push(JSON.parse(line) as LogLine);
  const app = Fastify({ logger: { level: "warn", stream: { write } } });
  await app.register(headgate, { name: "api", limits, store: redisStore(connect()) });
  app.get("/", async () => "");
  const limiter = createLimiter({ name: "api", limits, store: redisStore(connect()) });
  stops.push(
    () => app.close(),
    () => limiter.close(),
  );
  await publishInUse();
  const requestBoth = () => Promise.all([app.inject("/"), limiter.consume("ada")]);
  await requestBoth();
  await server.kill();
  await waitUntil("both are logged down", 10_000, async () => {
    await requestBoth();
    return log.length > 0 && warnings.length > 0 ? true : undefined;
  });
  await server.restart();
  await waitUntil("both are logged up", 10_000, async () => {
    return log.length > 1 && warnings.length > 1 ? true : undefined;
  });
});

afterAll(async () => {
  for (const stop of stops) await stop();
  await server.stop();
});

/** One request that is on a list, one call that waits, and one slot. */
async function publishInUse(): Promise<void> {
  const listed = Fastify();
  await listed.register(headgate, { limits, allowList: () => true });
  listed.get("/", async () => "");
  await listed.inject("/");
  const quick = createLimiter({ limits: gcra({ limit: 1, window: "1ms" }) });
  await Promise.all([quick.wait("ada"), quick.wait("ada")]);
  const slots = createLimiter({ limits: concurrency({ limit: 1, ttl: "1m" }) });
  await slots.release(await slots.consume("ada"));
  stops.push(
    () => listed.close(),
    () => quick.close(),
    () => slots.close(),
  );
}

function connect(): Redis {
  const redis = new Redis(server.socket);
  redis.on("error", () => {});
  stops.push(() => redis.disconnect());
  return redis;
}

/** Removes the parts of a message that differ between outages. */
function withoutItsOwn(message: string): string {
  return message.replace(/ \(.*\)(?=; until)/, "").replace(/\d+/g, "n");
}

test("Fastify's log looks as on the page", () => {
  const [block] = blocksOf([LOG], "json");
  const shown =
    block?.text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as LogLine) ?? [];
  const essence = ({ level, code, msg, err }: LogLine) => ({
    level,
    code,
    msg: withoutItsOwn(msg),
    reason: err?.code,
  });
  expect(shown.map(essence)).toEqual(log.map(essence));
  expect(shown).toHaveLength(2);
});

test("process warnings have the documented codes and messages", () => {
  const start = "Headgate: ";
  expect(section(LOG, "The log")).toContain(`\`${start.trim()}\` in front of the same message`);
  expect(warnings.map(({ code, message }) => [code, withoutItsOwn(message)])).toEqual(
    log.map(({ code, msg }) => [code, `${start}${withoutItsOwn(msg)}`]),
  );
  expect(warnings).toHaveLength(2);
});

// The fields of a decision have their own table, which reference.test.ts reads.
test.each(Object.values(CHANNELS).filter((name) => name !== CHANNELS.decision))(
  "the fields of messages on %s are those that the page says",
  (name) => {
    const type = rowOf("Channels", name)[2];
    const fields = rowOf("Fields", codeIn(type ?? "")[0])[1] ?? "";
    const [message = {}] = published.get(name) ?? [];
    expect(codeIn(fields).sort()).toEqual(Object.keys(message).sort());
  },
);

/** Returns the row that begins with this code in a section of the page about events. */
function rowOf(heading: string, code: string | undefined): readonly string[] {
  const rows = tablesOf(section(EVENTS, heading))[0]?.rows ?? [];
  return rows.find(([first = ""]) => codeIn(first)[0] === code) ?? [];
}
