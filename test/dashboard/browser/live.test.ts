import { createLimiter, fixedWindow } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { limitFetch } from "@headgate/fetch";
import { Redis } from "ioredis";
import type { Browser, Locator, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { hasChromium, startChromium } from "../../support/chromium.ts";
import { sendUsage } from "../../support/send-usage.ts";
import { writeRegistry } from "../../support/write-registry.ts";
import type { LiveFleet } from "./live-fleet.ts";
import { startLiveFleet } from "./live-fleet.ts";

const ALL = { by: "ann@example.com", actions: "all" } as const;

const CLIENT = "192.0.2.66";
const SUBJECT = `#/subject?subject=${CLIENT}&limiter=api`;

/** The views' deep links, each with a text that only this view has. */
const VIEWS = [
  ["#/?span=24h", /denied now/],
  ["#/limiter?find=sea", /^Limiters.*search/s],
  ["#/limiter?name=login&span=24h", /attempts.*203\.0\.113\.250/s],
  [SUBJECT, /192\.0\.2\.66.*minute/s],
  ["#/breakers", /payments/],
  ["#/control", /override.*deny list/s],
  ["#/log", /Operator actions/],
  ["#/redis", /Redis/],
] as const;

/** Actions: the view, the button that opens the dialog, the button that confirms, and the text to type first. */
const ACTIONS: readonly Step[] = [
  { at: SUBJECT, button: "Block…", title: "Block" },
  { at: SUBJECT, button: "Unblock…", title: "Unblock" },
  { at: SUBJECT, button: "Override…", title: "Override limits", type: ["limit", "5"] },
  { at: SUBJECT, button: "Remove override…", title: "Remove override" },
  { at: SUBJECT, button: "Reset…", title: "Reset" },
  { at: SUBJECT, button: "Forget…", title: "Forget" },
  { at: "#/limiter?name=search", button: "Put in shadow mode…", title: "Put in shadow mode" },
  { at: "#/limiter?name=search", button: "Enforce…", title: "Enforce" },
  {
    at: "#/limiter?name=search",
    button: "Change the override…",
    title: "Override limits",
    type: ["limit", "9"],
  },
  { at: "#/limiter?name=search", button: "Remove the override…", title: "Remove the override" },
  {
    at: "#/control",
    button: "Add an address or network…",
    title: "Add to the deny list",
    type: ["Address or network", "192.0.2.200"],
  },
  {
    at: "#/control",
    button: "Remove 192.0.2.200 from the deny list",
    title: "Remove from the deny list",
  },
  ...["Force open", "Disable", "Reset"].map((title) => ({
    at: "#/breakers",
    menu: /^Orders for/,
    button: `${title}…`,
    title,
  })),
];

interface Step {
  readonly at: string;
  readonly menu?: RegExp;
  readonly button: string;
  readonly title: string;
  readonly type?: readonly [label: string, text: string];
}

describe.runIf(hasChromium())("the page of a fleet under traffic", { timeout: 180_000 }, () => {
  let browser: Browser;
  let fleet: LiveFleet;

  beforeAll(async () => {
    [browser, fleet] = await Promise.all([startChromium(), startLiveFleet()]);
    const page = await open("#/");
    // Processes register after ten seconds.
    for (const words of [/denied now/, /^search$/]) {
      await page.locator("main", { has: page.getByText(words) }).waitFor({ timeout: 50_000 });
    }
    await page.close();
  });

  afterAll(() => Promise.all([browser?.close(), fleet?.close()]));

  beforeEach(() => {
    fleet.permission = ALL;
  });

  /** Opens the page with a short polling interval. */
  async function open(hash: string): Promise<Page> {
    const page = await browser.newPage({ reducedMotion: "reduce" });
    await page.route("**/api/session", async (route) => {
      const response = await route.fetch();
      const session = await response.json();
      await route.fulfill({ response, json: { ...session, pollMs: 300 } });
    });
    await page.goto(fleet.url + hash);
    await page.locator("h1").first().waitFor();
    return page;
  }

  /** Processes report subjects every half minute. */
  const expectView = (page: Page, words: RegExp): Promise<void> =>
    expect
      .poll(() => page.locator("main").textContent(), { message: page.url(), timeout: 60_000 })
      .toMatch(words);

  test("has a link for each view, and offers no action to a visitor who may only read", async () => {
    fleet.permission = "read";
    const page = await open("#/");
    for (const [hash, words] of VIEWS) {
      // From another page, so that the page loads with the link.
      await page.goto("about:blank");
      await page.goto(fleet.url + hash);
      await expectView(page, words);
      expect(page.url()).toBe(fleet.url + hash);
      expect(await page.locator("main button", { hasText: /[…⋯]/ }).count(), hash).toBe(0);
    }
    await page.close();
  });

  test("restores views and their selections with the browser's back and forward buttons", async () => {
    const page = await open(VIEWS[0][0]);
    for (const [hash] of VIEWS.slice(1)) await page.goto(fleet.url + hash);
    for (const [hash, words] of VIEWS.slice(0, -1).reverse()) {
      await page.goBack();
      expect(page.url()).toBe(fleet.url + hash);
      await expectView(page, words);
    }
    for (const [hash, words] of VIEWS.slice(1)) {
      await page.goForward();
      expect(page.url()).toBe(fleet.url + hash);
      await expectView(page, words);
    }
    await page.close();
  });

  /** Opens the dialog of an action, and fills in all but the reason. */
  async function begin(page: Page, { at, menu, button, type }: Step): Promise<Locator> {
    await page.goto(fleet.url + at);
    if (menu) await page.getByRole("button", { name: menu }).first().click();
    await page.getByRole("button", { name: button, exact: true }).first().click();
    const dialog = page.getByRole("dialog");
    if (type) await dialog.getByLabel(type[0]).first().fill(type[1]);
    return dialog;
  }

  /** Waits until a button of a dialog is enabled; fails with the text of the dialog. */
  const expectEnabled = (button: Locator, dialog: Locator): Promise<void> =>
    expect
      .poll(async () => ((await button.isEnabled()) ? "enabled" : dialog.textContent()))
      .toBe("enabled");

  test("refuses every action to a visitor who has lost the permission, and performs it for one who has it", {
    timeout: 240_000,
  }, async () => {
    const page = await open("#/");
    for (const [i, step] of ACTIONS.entries()) {
      fleet.permission = { by: ALL.by, actions: [] };
      const dialog = await begin(page, step);
      await expect
        .poll(() => dialog.textContent(), { message: step.title })
        .toContain("You may not take this action. Nothing was done.");
      const confirm = dialog.getByRole("button", { name: step.title, exact: true });
      expect(await confirm.isDisabled()).toBe(true);
      fleet.permission = ALL;
      await dialog.getByRole("button", { name: "Preview again" }).click();
      await dialog.getByLabel("Reason").fill(`OPS-${i}.`);
      await expectEnabled(confirm, dialog);
      await confirm.click();
      const finish = async (): Promise<string | null> => {
        const text = await dialog.textContent();
        // The traffic has changed the state since the preview: the dialog asks for another look.
        if (text?.includes("then confirm again") && (await confirm.isEnabled()))
          await confirm.click();
        return text;
      };
      await expect.poll(finish, { message: step.title }).toContain("In force everywhere");
      await dialog.getByRole("button", { name: "Close" }).click();
      await dialog.waitFor({ state: "detached" });
    }
    await page.goto(`${fleet.url}#/log`);
    const log = page.locator("main ol.actions");
    await log.getByText(`OPS-${ACTIONS.length - 1}.`).waitFor();
    const text = await log.textContent();
    // Forgetting a subject also removes its actions from the log.
    const forgotten = ACTIONS.findIndex(({ title }) => title === "Forget");
    expect(ACTIONS.map((_, i) => text?.includes(`OPS-${i}.`))).toEqual(
      ACTIONS.map((_, i) => i >= forgotten),
    );
    await page.close();
  });

  test("refuses an action whose permission was lost after the preview, and offers only the permitted actions", async () => {
    const page = await open("#/");
    const dialog = await begin(page, ACTIONS[4] as Step);
    await dialog.getByLabel("Reason").fill("OPS-1");
    const confirm = dialog.getByRole("button", { name: "Reset", exact: true });
    await expectEnabled(confirm, dialog);
    fleet.permission = { by: ALL.by, actions: ["block"] };
    await confirm.click();
    await expect.poll(() => dialog.textContent()).toContain("Nothing was done.");
    await page.goto("about:blank");
    await page.goto(fleet.url + SUBJECT);
    await page.getByRole("button", { name: "Block…" }).waitFor();
    expect(await page.locator("main button", { hasText: /[…⋯]/ }).allTextContents()).toEqual([
      "Block…",
    ]);
    await page.close();
  });

  /** Presses Tab until something with this name has the focus. */
  async function tabTo(page: Page, name: RegExp): Promise<void> {
    for (let i = 0; i < 80; i += 1) {
      await page.keyboard.press("Tab");
      if (name.test(await focused(page))) return;
    }
    throw new Error(`Tab does not lead to ${name}`);
  }

  const focused = (page: Page): Promise<string> =>
    page.evaluate(
      "[document.activeElement.ariaLabel, document.activeElement.labels?.[0]?.textContent, document.activeElement.textContent].find(Boolean) ?? ''",
    );

  test("can find and block a client by keyboard alone", async () => {
    const page = await open("#/");
    await tabTo(page, /^Find a client/);
    await page.keyboard.type(CLIENT);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Block…", exact: true }).first().waitFor();
    await tabTo(page, /^Block…$/);
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    await tabTo(page, /^Reason/);
    await page.keyboard.type("OPS-7");
    await expectEnabled(dialog.getByRole("button", { name: "Block", exact: true }), dialog);
    await tabTo(page, /^Block$/);
    await page.keyboard.press("Enter");
    await expect.poll(() => dialog.textContent()).toContain("In force everywhere");
    await tabTo(page, /^Close$/);
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    expect(await focused(page)).toBe("Block…");
    await expectView(page, /OPS-7/);
    await page.close();
  });

  test("shows a cooldown of an API that the fleet calls, with its reason, and ends it", async () => {
    const client = new Redis(fleet.redis.socket);
    const store = redisStore(client, { usage: { subjects: "plain" } });
    const limits = fixedWindow({ limit: 100, window: "1h" });
    const limiter = createLimiter({ name: "partner", limits, store, storeTimeout: "20s" });
    onTestFinished(async () => {
      await limiter.close();
      client.disconnect();
    });
    await writeRegistry(store);
    const refusal = { status: 429, headers: { "retry-after": "1800" } };
    const send = limitFetch({
      limiter,
      key: () => "account-1",
      fetch: async () => new Response("", refusal),
    });
    await send("https://api.example/orders");
    await sendUsage(store);
    const page = await open("#/control");
    const row = page.getByRole("row", { name: /account-1/ });
    await row.waitFor();
    expect(await row.textContent()).toMatch(
      /partner\s*the application\s*api\.example answered 429/,
    );
    const step = { at: "#/control", button: "Unblock account-1 in partner", title: "Unblock" };
    const dialog = await begin(page, step);
    await dialog.getByLabel("Reason").fill("their outage is over");
    await expectEnabled(dialog.getByRole("button", { name: "Unblock", exact: true }), dialog);
    await dialog.getByRole("button", { name: "Unblock", exact: true }).click();
    await expect.poll(async () => (await limiter.peek("account-1")).allowed).toBe(true);
    await page.close();
  });

  test("keeps the last view while its server is unavailable, says nothing of now, and recovers by itself", async () => {
    const page = await open("#/");
    await expectView(page, /denied now.*login/s);
    const age = page.locator(".age");
    await fleet.down();
    const notice = page.locator("main .notice.bad");
    await expect.poll(() => notice.textContent()).toContain("server does not answer");
    await expect.poll(() => age.textContent()).toMatch(/^Not live: \d+ s old$/);
    await expectView(page, /were denied.*login/s);
    expect(await page.locator("main").textContent()).not.toContain("denied now");
    await fleet.up();
    await expect.poll(() => notice.count()).toBe(0);
    await expect.poll(() => age.textContent()).toMatch(/^(?:just now|\d+ s old)$/);
    await page.close();
  });

  test("says since when Redis is unavailable, and shows the view again once it is back", async () => {
    const page = await open("#/");
    await expectView(page, /denied now.*login/s);
    await fleet.redis.kill();
    await expectView(page, /has not answered.*login/s);
    await fleet.redis.restart();
    await expectView(page, /denied now/);
    expect(await page.locator("main").textContent()).not.toContain("has not answered");
    await page.close();
  });
});
