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

const [all, limiterFields, useFields, keyRows, processFields, unreadFields] = tablesOf(
  section(page("docs/reference/directory.md"), "Reading it"),
);

type Rows = typeof all;

/** The fields that a table lists. */
function fieldsOf(table: Rows): string[] {
  return table?.rows.flatMap(([field = ""]) => codeIn(field)).sort() ?? [];
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

test("the tables of docs/reference/directory.md have every field, and no other", () => {
  expect(namesIn(found)).toEqual(fieldsOf(all));
  const route = found.limiters.find(({ name }) => name === "route");
  expect([...namesIn(route), "blockOn", "isCut", "others"].sort()).toEqual(fieldsOf(limiterFields));
  expect(namesIn(route?.uses[0])).toEqual(fieldsOf(useFields));
  expect(namesIn(found.processes[0])).toEqual(fieldsOf(processFields));
  const why = ["damaged", "missing", "other-format", "wrong-type"];
  expect(fieldsOf(unreadFields)).toEqual(why.map((one) => JSON.stringify(one)));
});

test("a breaker has the fields that the page names", () => {
  const text = section(page("docs/reference/directory.md"), "Reading it");
  const [, sentence = ""] = /\nA breaker has ([\s\S]*?)\n\n/.exec(text) ?? [];
  expect([...namesIn(found.breakers[0]), "isCut", "moreTargets", "openFor"].sort()).toEqual(
    codeIn(sentence).sort(),
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

test("keys in Redis are those of the page", async () => {
  const rows = tablesOf(section(page("docs/reference/directory.md"), "In Redis"))[0]?.rows ?? [];
  const shown = rows.map(([key = ""]) => codeIn(key)[0]?.replace("...", "") ?? "");
  const store = redisStore(own.client);
  const limiter = createLimiter({ name: "x", store, limits: gcra({ limit: 5, window: "1m" }) });
  await writeDirectory(store);
  const keys = (await own.scan()).map(String).sort();
  expect(keys).toHaveLength(shown.length);
  for (const [i, key] of keys.entries()) expect(key.startsWith(shown[i] as string)).toBe(true);
  await limiter.close();
});
