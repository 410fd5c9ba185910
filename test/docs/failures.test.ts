import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { DegradedDecision } from "@headgate/core";
import { CHANNELS, createLimiter } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { gcra } from "@headgate/fastify";
import { describe, expect, test } from "vitest";
import { likeIoredis } from "../support/like-ioredis.ts";
import { codeIn, page, section, tablesOf } from "./markdown.ts";

const FAULTS = page("docs/understand/when-redis-fails.md");
const EVENTS = page("docs/reference/events.md");
const limits = gcra({ limit: 5, window: "1m" });

test("docs/reference/events.md lists exactly the existing channels", () => {
  const rows = tablesOf(section(EVENTS, "Channels"))[0]?.rows ?? [];
  const documented = rows.map(([name = "", key = ""]) => [codeIn(key)[0], codeIn(name)[0]]);
  expect(Object.fromEntries(documented)).toEqual(CHANNELS);
});

describe("what is unavailable and what is misconfigured", () => {
  const [unavailable = "", misconfigured = ""] = section(
    FAULTS,
    "Unavailable, or misconfigured",
  ).split("**Misconfigured**");

  test.each([
    ...wordsIn(unavailable).map((words) => ({ words, code: "HEADGATE_STORE_UNAVAILABLE" })),
    ...wordsIn(misconfigured).map((words) => ({ words, code: "HEADGATE_STORE_MISCONFIGURED" })),
    { words: "TRYAGAIN", code: "HEADGATE_HASH_SLOT_UNAVAILABLE" },
  ])("$words is $code", async ({ words, code }) => {
    expect(await codeOf(words)).toBe(code);
  });

  test("every code that a decision is degraded for is documented", () => {
    const [, after = ""] = section(EVENTS, "Fields").split("A `reason` is");
    const documented = codeIn(after).filter((code) => code.startsWith("HEADGATE_"));
    expect(documented.sort()).toEqual([
      "HEADGATE_BAD_REPLY",
      "HEADGATE_HASH_SLOT_UNAVAILABLE",
      "HEADGATE_STORE_MISCONFIGURED",
      "HEADGATE_STORE_UNAVAILABLE",
      "HEADGATE_WRONG_TYPE",
    ]);
  });

  test("both lists have entries", () => {
    expect(wordsIn(unavailable)).toContain("READONLY");
    expect(wordsIn(misconfigured)).toContain("NOPERM");
  });
});

test("the table of faults names every code that is logged while a store fails", () => {
  const chapters = page("docs/reference/errors.md").text.split(/^## /m).slice(1);
  const documented = chapters.filter((chapter) =>
    /line\s+in\s+the\s+log|error\s+in\s+Fastify's\s+log/.test(chapter),
  );
  const faults = section(FAULTS, "Each fault");
  const words = [...faults.matchAll(/\*\*([a-z ]+)\*\*\s+is\s+`(HEADGATE_\w+)`/g)];
  const [table] = tablesOf(faults);
  const logged = table?.rows.map((row) => row[table.head.indexOf("log")] ?? "") ?? [];
  const named = words.flatMap(([, word = "", code = ""]) =>
    logged.some((cell) => cell.includes(word)) ? [code] : [],
  );
  expect([...new Set(named)].sort()).toEqual(
    documented.map((chapter) => chapter.split("\n")[0]).sort(),
  );
});

/** The server replies in the list of causes. */
function wordsIn(text: string): string[] {
  const causes = [...text.matchAll(/^- .*(?:\n {2}.*)*/gm)].map(([cause]) => cause);
  return causes.flatMap(codeIn).filter((words) => words !== "storeTimeout");
}

/** Returns the reason why a decision is degraded when a server replies with this error. */
async function codeOf(words: string): Promise<string | undefined> {
  // Redis sends a text in lower case after ERR.
  const message = /^[A-Z]+$/.test(words) ? `${words} in words of its own` : `ERR ${words}`;
  const refuse = async (): Promise<never> => {
    throw new Error(message);
  };
  const store = redisStore(likeIoredis(refuse));
  const limiter = createLimiter({ name: words, limits, store, storeTimeout: "10s" });
  let code: string | undefined;
  const listen = (published: unknown): void => {
    const { limiter: name, reason } = published as DegradedDecision;
    if (name === words) code = reason.code;
  };
  subscribe(CHANNELS.degraded, listen);
  await limiter.consume("ada");
  unsubscribe(CHANNELS.degraded, listen);
  await limiter.close();
  return code;
}
