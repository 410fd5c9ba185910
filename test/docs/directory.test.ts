import { createBreaker } from "@headgate/breaker";
import { createLimiter, gcra } from "@headgate/core";
import { readDirectory } from "@headgate/core/operate";
import { redisStore } from "@headgate/core/redis";
import { byAll, byHeader, byIp, rateLimit } from "@headgate/express";
import { beforeAll, expect, test } from "vitest";
import { useOwnRedis } from "../support/own-redis.ts";
import { writeDirectory } from "../support/write-directory.ts";
import { codeIn, page, section, tablesOf } from "./markdown.ts";

const own = useOwnRedis();

const DIRECTORY = section(page("docs/reference/usage.md"), "The directory");
const [keyRows] = tablesOf(DIRECTORY);

/** What a sentence names that begins so, in its paragraph; without what an example or a type says. */
function named(start: string): string[] {
  const [, paragraph = ""] = DIRECTORY.split(`\n${start} `);
  return codeIn(paragraph.split("\n\n")[0] ?? "").sort();
}

function namesIn(value: object | undefined): string[] {
  return Object.keys(value ?? {}).sort();
}

let found: Awaited<ReturnType<typeof readDirectory>>;

/** Something of everything. */
beforeAll(async () => {
  await own.client.flushall();
  const store = redisStore(own.client);
  const limits = gcra({ limit: 5, window: "1m" });
  const site = createLimiter({ name: "site", store, limits });
  const route = createLimiter({ name: "route", store, limits, extends: site });
  const limit = rateLimit({
    limiter: route,
    key: byAll(byIp(), byHeader("x-user"), byHeader("x-key", { hashSecret: "s" }), () => "u"),
    address: { header: "x-client", trust: ["10.0.0.1"] },
    allowList: ["10.0.0.2"],
    blockList: () => false,
  });
  const breaker = createBreaker({ name: "bank", store });
  await writeDirectory(store);
  found = await readDirectory(store);
  await Promise.all([limit, route, site, breaker].map((one) => one.close()));
});

test("docs/reference/usage.md has every field of the directory, and no other", () => {
  expect(namesIn(found)).toEqual(named("The result has"));
  const route = found.limiters.find(({ name }) => name === "route");
  expect([...namesIn(route), "blockOn", "isCut", "others"].sort()).toEqual(named("A limiter has"));
  expect([...namesIn(route?.uses[0]), '"addresses"', '"function"'].sort()).toEqual(
    named("One of its uses has"),
  );
  expect(namesIn(found.processes[0])).toEqual(named("A process has"));
  expect([...namesIn(found.breakers[0]), "isCut", "moreTargets", "openFor"].sort()).toEqual(
    named("A breaker has"),
  );
  const why = ["damaged", "missing", "other-format", "wrong-type"];
  expect(named("An entry of `unread` has")).toEqual(
    [...why.map((one) => JSON.stringify(one)), "key", "why"].sort(),
  );
});

test("keys say what the page says they say", () => {
  const route = found.limiters.find(({ name }) => name === "route");
  expect(keyRows?.rows).toHaveLength(4);
  expect(route?.uses[0]?.keys).toEqual({
    default: {
      by: "all",
      keys: [
        { by: "ip", ipv6Prefix: 64 },
        { by: "header", name: "x-user", hash: "sha256" },
        { by: "header", name: "x-key", hash: "hmac" },
        { by: "function" },
      ],
    },
  });
  const shown = keyRows?.rows.map(([, says = ""]) => /by: "(\w+)"/.exec(says)?.[1]);
  expect(shown).toEqual(["ip", "header", "all", "function"]);
});

test("all keys in Redis begin as the page says, and expire within the time that it says", async () => {
  const [, start = ""] =
    /keys begin with `([^`]+)` and expire within two hours/.exec(DIRECTORY) ?? [];
  const store = redisStore(own.client);
  const limiter = createLimiter({ name: "x", store, limits: gcra({ limit: 5, window: "1m" }) });
  await writeDirectory(store);
  const keys = (await own.scan()).map(String).sort();
  const kinds = ["", ":process/", ":record/"];
  expect(keys).toHaveLength(kinds.length);
  for (const [i, key] of keys.entries()) {
    expect(key.startsWith(`${start}${kinds[i]}`), key).toBe(true);
    const expiry = await own.client.pttl(key);
    expect(expiry).toBeGreaterThan(0);
    expect(expiry).toBeLessThanOrEqual(2 * 3_600_000);
  }
  await limiter.close();
});
