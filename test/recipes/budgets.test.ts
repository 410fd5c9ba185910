import { redisStore } from "@headgate/core/redis";
import { beforeEach, expect, test } from "vitest";
import type { Alert, Holder } from "../../examples/budgets/server.ts";
import { alertOwners, createApp } from "../../examples/budgets/server.ts";
import { page } from "../docs/markdown.ts";
import { useLongStoreTimeout } from "../support/long-store-timeout.ts";
import { useOwnDatabase } from "../support/own-database.ts";
import { serve } from "../support/serve.ts";

useLongStoreTimeout();

const redis = useOwnDatabase();

const budgets = { organisation: 300, team: 200, key: 100 };

/** Two teams of an organisation, the first with two keys. */
const HOLDERS = new Map<string | undefined, Holder>(
  [
    ["acme", "press", "ada"],
    ["acme", "press", "grace"],
    ["acme", "shop", "linus"],
    ["other", "all", "mallory"],
  ].map(([organisation = "", team, key]) => [
    key,
    {
      organisation,
      team: `${organisation}/${team}`,
      key: `${organisation}/${team}/${key}`,
      budgets,
    },
  ]),
);

let now: number;
let alerts: Alert[] = [];
alertOwners((alert) => alerts.push(alert));
let urls: string[];
beforeEach(async () => {
  now = Date.UTC(2030, 0, 15);
  alerts = [];
  const prefix = `budgets-${Math.random()}`;
  // Two processes of a fleet.
  urls = await Promise.all(
    [1, 2].map(() => {
      const store = redisStore(redis, { prefix, clock: () => now });
      return serve(createApp(store, async (key) => HOLDERS.get(key)));
    }),
  );
});

let requests = 0;

/** Renders pages, in one process after another. */
async function render(key: string, pages = 1): Promise<Response> {
  requests += 1;
  const url = `${urls[requests % 2]}/render?pages=${pages}`;
  return fetch(url, { method: "POST", headers: { "x-api-key": key } });
}

async function statusOf(key: string, pages?: number): Promise<number> {
  const answer = await render(key, pages);
  await answer.arrayBuffer();
  return answer.status;
}

test("a key, its team and the organisation are charged together", async () => {
  expect(await (await render("ada", 30)).json()).toEqual({
    rendered: 30,
    left: { organisation: 270, team: 170, key: 70 },
  });
  expect(await (await render("grace", 1)).json()).toMatchObject({
    left: { organisation: 269, team: 169, key: 99 },
  });
  expect(await (await render("linus", 1)).json()).toMatchObject({
    left: { organisation: 268, team: 199, key: 99 },
  });
});

test("a denial by one budget charges none of the others", async () => {
  expect(await statusOf("ada", 100)).toBe(200);
  const denied = await render("ada");
  expect(denied.status).toBe(429);
  expect(await denied.json()).toMatchObject({ "violated-policies": ["key"] });
  expect(await statusOf("grace", 100)).toBe(200);
  expect(await (await render("linus", 100)).json()).toMatchObject({
    left: { organisation: 0, team: 100, key: 0 },
  });
});

test("each alert is sent once, by any process, also under load", async () => {
  const all = [
    ...Array.from({ length: 100 }, () => statusOf("ada")),
    ...Array.from({ length: 100 }, () => statusOf("grace")),
    ...Array.from({ length: 50 }, () => statusOf("linus")),
  ];
  expect((await Promise.all(all)).filter((status) => status !== 200)).toEqual([]);
  const expected = [
    { budget: "organisation", of: "acme", share: 0.8 },
    { budget: "team", of: "acme/press", share: 0.8 },
    { budget: "team", of: "acme/press", share: 1 },
    ...["ada", "grace"].flatMap((key) =>
      [0.8, 1].map((share) => ({ budget: "key", of: `acme/press/${key}`, share })),
    ),
  ];
  expect(alerts).toHaveLength(expected.length);
  expect(alerts).toEqual(expect.arrayContaining(expected));
  await Promise.all(Array.from({ length: 20 }, () => statusOf("ada")));
  expect(alerts).toHaveLength(expected.length);
});

test("one decision can reach several thresholds, and a new month starts without any", async () => {
  expect(await statusOf("ada", 100)).toBe(200);
  expect(alerts).toEqual([
    { budget: "key", of: "acme/press/ada", share: 0.8 },
    { budget: "key", of: "acme/press/ada", share: 1 },
  ]);
  now = Date.UTC(2030, 1, 1);
  alerts = [];
  expect(await statusOf("grace", 80)).toBe(200);
  expect(alerts).toEqual([{ budget: "key", of: "acme/press/grace", share: 0.8 }]);
});

test.each([
  ["made-up", 1, 401],
  ["ada", 0, 400],
  ["ada", 101, 400],
  ["ada", 1.5, 400],
])("%s with %j pages gets %i and is not counted", async (key, pages, status) => {
  expect(await statusOf(key, pages)).toBe(status);
  expect(await (await render("ada")).json()).toMatchObject({ left: { key: 99 } });
});

test("the page shows the real response and alert", async () => {
  const ada = {
    ...(HOLDERS.get("ada") as Holder),
    budgets: { organisation: 1_000, team: 500, key: 100 },
  };
  const store = redisStore(redis, { prefix: `budgets-${Math.random()}`, clock: () => now });
  const app = createApp(store, async () => ada);
  urls.fill(await serve(app));
  await statusOf("ada", 79);
  const answer = await (await render("ada")).json();
  const { blocks } = page("docs/recipes/monthly-quota.md");
  const [, ...shown] = blocks.filter(({ language }) => language === "json");
  expect(shown.map(({ text }) => JSON.parse(text))).toEqual([answer, ...alerts]);
});
