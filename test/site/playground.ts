import * as core from "@headgate/core";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, expect, test } from "vitest";
import { ALGORITHMS, TRAFFIC } from "../../docs/.vitepress/playground/setting.ts";
import type { Tab } from "./look.ts";
import { openTab } from "./look.ts";

/** Settings that have each algorithm, each traffic and each option. */
const SETTINGS = [
  "algorithm=gcra&limit=7&window=3s&burst=3&traffic=bursts&size=9&pause=2&seconds=20",
  "algorithm=tokenBucket&capacity=12&refill=3&every=2s&traffic=steady&rate=2.5&seconds=45",
  "algorithm=fixedWindow&limit=5&window=4s&align=clock&traffic=retries&rate=3&retry=every+250+ms",
  "algorithm=slidingWindow&limit=9&window=7s&buckets=4&traffic=two-clients&busy=3&quiet=1.5",
  "algorithm=slidingWindow&limit=9&window=7s&buckets=&traffic=two-clients&busy=3&quiet=1.5",
  "algorithm=slidingLog&limit=4&window=5s&traffic=retries&rate=2&retry=after+Retry-After",
];

/** Tests the playground against the decisions that the package takes here. */
export function testPlayground(open: () => { readonly browser: Browser; readonly origin: string }) {
  let tab: Tab | undefined;
  afterAll(async () => {
    await tab?.page.close();
  });

  /** Shows the playground, once it has drawn. */
  async function show(query: string): Promise<Page> {
    const { browser, origin } = open();
    tab ??= await openTab(browser, origin, { viewport: { width: 1_280, height: 800 } });
    await tab.page.goto(`${origin}/playground?${query}`);
    await tab.page.locator(".time-line svg").first().waitFor();
    return tab.page;
  }

  test("the settings of these tests have each algorithm and each traffic", () => {
    const values = (name: string) => SETTINGS.map((query) => new URLSearchParams(query).get(name));
    expect(new Set(values("algorithm"))).toEqual(new Set(Object.keys(ALGORITHMS)));
    expect(new Set(values("traffic"))).toEqual(new Set(Object.keys(TRAFFIC)));
  });

  test.each(SETTINGS)("the playground decides as the package does: %s", async (query) => {
    const page = await show(query);
    await page.getByText("Every request").click();
    const shown = await page.locator("tbody tr").evaluateAll(readRows);
    expect(shown.length).toBeGreaterThan(20);
    expect(new Set(shown.map(([, , answer]) => answer)).size).toBe(2);

    let now = 0;
    const limiter = core.createLimiter({
      name: "expected",
      store: core.memoryStore({ clock: () => now }),
      limits: limitIn(await page.locator("pre").textContent()),
    });
    const expected: string[][] = [];
    for (const [time = "", client = ""] of shown) {
      now = Number.parseFloat(time);
      const { allowed, remaining, retryAfterMs } = await limiter.consume(client);
      const answer = allowed ? "admitted" : "denied";
      expected.push([time, client, answer, String(remaining), String(retryAfterMs)]);
    }
    expect(shown).toEqual(expected);

    const clients = [...new Set(shown.map(([, client]) => client))];
    const drawn = await page.locator(".time-line figcaption").allTextContents();
    const counted = clients.map((client) => {
      const own = shown.filter((row) => row[1] === client);
      const admitted = own.filter(([, , answer]) => answer === "admitted");
      return `${admitted.length} of ${own.length} requests admitted`;
    });
    expect(drawn.map((text, i) => text.includes(counted[i] as string))).toEqual(
      clients.map(() => true),
    );
    expect(await countBars(page.locator(".time-line svg").first())).toBeGreaterThan(1);
    if (query.includes("Retry-After")) expectHonest(shown);
    expect(tab?.problems()).toEqual([]);
  });

  test("the playground keeps its state in the URL, and is used by keyboard alone", async () => {
    const page = await show("");
    await page.getByLabel("algorithm").focus();
    await page.keyboard.type("slidingLog");
    await page.keyboard.press("Tab");
    await page.keyboard.type("3");
    await page.keyboard.press("Tab");
    await page.keyboard.type("2s");
    await page.keyboard.press("Tab");
    await page.keyboard.type("Steady");
    const caption = "90 of 180 requests admitted, 3 in the busiest 2s";
    await expect.poll(() => page.locator("figcaption").textContent()).toBe(caption);
    const { search } = new URL(page.url());
    expect(search).toBe("?algorithm=slidingLog&traffic=steady&limit=3&window=2s&rate=3&seconds=60");
    await page.getByLabel("code for").selectOption("Fastify");
    const code = await page.locator("pre").textContent();
    expect(code).toContain(
      'app.register(headgate, { limits: slidingLog({ limit: 3, window: "2s" })',
    );

    const again = await show(search.slice(1));
    await expect.poll(() => again.locator("figcaption").textContent()).toBe(caption);
    expect(await again.getByLabel("limit", { exact: true }).inputValue()).toBe("3");
  });

  test("the playground says the most that a limit admits in any window", async () => {
    const page = await show("algorithm=gcra&limit=5&window=1m&traffic=steady&rate=3&seconds=60");
    expect(await page.locator("figcaption").textContent()).toMatch(/9 in the busiest 1m$/);
    expect(await page.locator(".bound").textContent()).toMatch(/at most 9 of them in any\s+1m/);
  });

  test("the playground says what the package rejects, and what it cannot draw", async () => {
    const page = await show("");
    await page.getByLabel("limit", { exact: true }).fill("2.5");
    const alert = page.getByRole("alert");
    await expect
      .poll(() => alert.textContent())
      .toContain("gcra: limit must be a whole number from 0 to 1000000000, got 2.5");
    const { href } = new URL("/reference/errors#headgate_invalid_limit", page.url());
    const link = alert.getByRole("link", { name: "HEADGATE_INVALID_LIMIT" });
    expect(await link.evaluate((it: { readonly href: string }) => it.href)).toBe(href);
    await page.getByLabel("limit", { exact: true }).fill("20");
    await page.getByLabel("requests in a burst").fill("1000");
    await expect.poll(() => alert.textContent()).toContain("more than 2000 requests");
    await page.getByLabel("seconds shown").fill("");
    await expect.poll(() => alert.textContent()).toContain("enter a number from 1 to 600");
    await page.getByLabel("seconds shown").fill("10");
    await page.locator(".time-line svg").waitFor();
  });
}

/** Evaluates the limit in the displayed code. */
function limitIn(code: string | null): core.Limit {
  const [, expression = ""] = /limits: (\w+\(\{.*?\}\))/.exec(code ?? "") ?? [];
  return new Function(...Object.keys(core), `return ${expression};`)(...Object.values(core));
}

/** Expects that a client that waits for `Retry-After` is admitted with its next request. */
function expectHonest(rows: readonly (readonly string[])[]): void {
  rows.forEach(([time, , answer, , wait], i) => {
    const next = rows[i + 1];
    if (answer === "admitted" || next === undefined) return;
    expect(next[2]).toBe("admitted");
    expect(Number.parseFloat(next[0] as string)).toBe(
      Number.parseFloat(time as string) + Number(wait),
    );
  });
}

const readRows = (
  rows: readonly { readonly children: Iterable<{ textContent: string | null }> }[],
) => rows.map(({ children }) => [...children].map(({ textContent }) => textContent ?? ""));

/** Returns the number of different bars. */
async function countBars(svg: Locator): Promise<number> {
  const bars = await svg
    .locator("rect")
    .evaluateAll((all: readonly { readonly outerHTML: string }[]) =>
      all.map((bar) => bar.outerHTML),
    );
  return new Set(bars).size;
}
