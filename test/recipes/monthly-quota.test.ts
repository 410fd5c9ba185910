import { memoryStore } from "@headgate/core";
import { expect, test } from "vitest";
import { createApp } from "../../examples/monthly-quota/server.ts";
import { page } from "../docs/markdown.ts";
import { serve } from "../support/serve.ts";

/** The application at a time in Berlin's spring, with one customer, whose plan the test changes. */
async function start(time: string) {
  let now = Date.parse(time);
  const clock = () => now;
  const ada = { id: "ada", plan: "free" as "free" | "team" };
  const find = async (key: string | undefined) => (key === "ada-key" ? ada : undefined);
  const url = await serve(createApp(memoryStore({ clock }), find, clock));
  const send = (path: string, key = "ada-key") =>
    fetch(`${url}${path}`, { headers: { "x-api-key": key } });
  const search = async (times: number): Promise<number> => {
    let admitted = 0;
    for (let i = 0; i < times; i += 1) {
      const answer = await send("/search");
      await answer.arrayBuffer();
      if (answer.ok) admitted += 1;
    }
    return admitted;
  };
  return {
    send,
    search,
    usage: async () => (await send("/usage")).json(),
    become: (plan: "free" | "team") => {
      ada.plan = plan;
    },
    goTo: (later: string) => {
      now = Date.parse(later);
    },
  };
}

const ENDS = "2026-03-31T22:00:00.000Z";

test("the usage page shows the usage, and costs nothing", async () => {
  const { search, usage } = await start("2026-03-14T12:00:00Z");
  expect(await usage()).toEqual({ plan: "free", limit: 100, used: 0, remaining: 100 });
  expect(await search(3)).toBe(3);
  const shown = { plan: "free", limit: 100, used: 3, remaining: 97, resets: ENDS };
  expect(await usage()).toEqual(shown);
  expect(await usage()).toEqual(shown);
});

test("the month ends at midnight in Berlin, in summer time", async () => {
  const { send, search, usage, goTo } = await start("2026-03-31T21:59:00Z");
  expect(await search(101)).toBe(100);
  expect(await usage()).toEqual({
    plan: "free",
    limit: 100,
    used: 100,
    remaining: 0,
    resets: ENDS,
  });
  goTo("2026-03-31T21:59:59.999Z");
  const last = await send("/search");
  expect([last.status, last.headers.get("retry-after")]).toEqual([429, "1"]);
  goTo(ENDS);
  expect(await usage()).toMatchObject({ used: 0, remaining: 100 });
  expect(await search(1)).toBe(1);
  expect(await usage()).toMatchObject({ used: 1, resets: "2026-04-30T22:00:00.000Z" });
});

test("an upgrade and a downgrade keep the usage", async () => {
  const { send, search, usage, become } = await start("2026-03-14T12:00:00Z");
  await search(100);
  expect((await send("/search")).status).toBe(429);
  become("team");
  expect(await usage()).toMatchObject({
    plan: "team",
    limit: 10_000,
    used: 100,
    remaining: 9_900,
  });
  expect(await search(20)).toBe(20);
  become("free");
  // Nothing is owed beyond the month: 120 used of 100.
  expect(await usage()).toMatchObject({ limit: 100, used: 120, remaining: 0, resets: ENDS });
  expect((await send("/search")).status).toBe(429);
});

test("requests without a key are not counted", async () => {
  const { send } = await start("2026-03-14T12:00:00Z");
  expect((await send("/search", "made-up")).status).toBe(401);
});

test("the page shows the real responses", async () => {
  const { send, search, usage } = await start("2026-03-14T12:00:00Z");
  await search(73);
  const { text, blocks } = page("docs/recipes/monthly-quota.md");
  const json = blocks.find(({ language }) => language === "json");
  expect(await usage()).toEqual(JSON.parse(String(json?.text)));
  const { headers } = await send("/search");
  for (const name of ["RateLimit-Policy", "RateLimit"]) {
    expect(text).toContain(`\n${name}: ${headers.get(name)}\n`);
  }
});
