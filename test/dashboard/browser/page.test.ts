import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Outage } from "../../../packages/dashboard/src/api.ts";
import { BROKEN_WORDS } from "../../support/broken-words.ts";
import { hasChromium, startChromium } from "../../support/chromium.ts";
import { recordingAt } from "../support/demo-fleet/recording.ts";
import type { DemoServer } from "./demo-server.ts";
import { serveDemo } from "./demo-server.ts";
import { cutHints, isTooWide, settle, violations } from "./page-checks.ts";

const VIEWS = [
  "#/",
  "#/?span=30d",
  "#/limiter",
  "#/limiter?name=search",
  "#/limiter?name=downloads&span=24h",
  "#/limiter?name=none",
  "#/subject",
  "#/subject?subject=203.0.113.250",
  "#/subject?subject=partner-7",
  "#/subject?subject=192.0.2.114",
  "#/breakers",
  "#/control",
  "#/log",
  "#/redis",
  "#/report",
];

/** Each colour scheme at one width, or at both widths with `HEADGATE_LONG=1`. */
const SCHEMES: ReadonlyArray<readonly ["light" | "dark", readonly number[]]> =
  process.env["HEADGATE_LONG"] === "1"
    ? [
        ["light", [360, 1280]],
        ["dark", [360, 1280]],
      ]
    : [
        ["light", [360]],
        ["dark", [1280]],
      ];

/** A time zone in which it is about noon, so that a time a few minutes from now is of the same day and shown without it. */
function zoneOfNoon(): string {
  // The signs of these zones are reversed: it is earlier in GMT+1 than in GMT.
  const hoursBehind = new Date().getUTCHours() - 12;
  return `Etc/GMT${hoursBehind < 0 ? "" : "+"}${hoursBehind}`;
}

const HOSTILE = `<img src=x onerror="globalThis.hit=1">\u202egnp.${"W".repeat(500)}\u0000\ud800`;

describe.runIf(hasChromium())("the dashboard's page", () => {
  let browser: Browser;
  let demo: DemoServer;

  beforeAll(async () => {
    [browser, demo] = await Promise.all([startChromium(), serveDemo()]);
  });

  afterAll(() => Promise.all([browser?.close(), demo?.close()]));

  beforeEach(() => {
    demo.overrides.clear();
    demo.session = {};
    demo.requests.length = 0;
  });

  const open = async (hash: string, options: object = {}): Promise<Page> => {
    const page = await browser.newPage({ reducedMotion: "reduce", ...options });
    await page.goto(demo.url + hash);
    await page.locator("h1").first().waitFor();
    return page;
  };

  const pressed = (page: Page, name: string | RegExp): Promise<void> =>
    page.getByRole("button", { name }).first().click();

  test.each(SCHEMES)(
    "every view passes axe-core in the %s scheme at %s px",
    async (colorScheme, widths) => {
      for (const width of widths) {
        const page = await open("#/", { colorScheme, viewport: { width, height: 800 } });
        const complaints: string[] = [];
        page.on("pageerror", (error) => complaints.push(String(error)));
        page.on("console", (message) => {
          // The browser logs the 404 of the unknown limiter.
          if (message.type() === "error" && !message.text().includes("404"))
            complaints.push(message.text());
        });
        for (const hash of VIEWS) {
          await page.goto(demo.url + hash);
          await settle(page);
          expect(await violations(page), `${hash}, ${width} px`).toEqual([]);
          expect(await isTooWide(page), `${hash}, ${width} px`).toBe(false);
        }
        expect(complaints).toEqual([]);
        await page.close();
      }
    },
  );

  test("scrolls no view sideways, from 360 to 1920 px", async () => {
    const page = await open("#/");
    for (const hash of VIEWS) {
      await page.goto(demo.url + hash);
      await settle(page);
      for (const width of [360, 480, 640, 768, 1024, 1280, 1920]) {
        await page.setViewportSize({ width, height: 800 });
        expect(await isTooWide(page), `${hash}, ${width} px`).toBe(false);
      }
    }
    await page.close();
  });

  test("breaks no word in the middle, from 360 to 1280 px", async () => {
    const page = await open("#/");
    for (const hash of VIEWS) {
      await page.goto(demo.url + hash);
      await settle(page);
      for (const width of [360, 768, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        expect(await page.evaluate(BROKEN_WORDS), `${hash}, ${width} px`).toEqual([]);
      }
    }
    await page.close();
  });

  test("shows requests that a limiter in shadow mode would deny apart from denials", async () => {
    const page = await open("#/limiter");
    const row = page.getByLabel("Limiters, as a table").locator("tr", { hasText: "downloads" });
    await expect
      .poll(() => row.locator("td:nth-child(2)").textContent())
      .toMatch(/^0[\d.]+k? would be denied$/);
    expect(await row.locator("td:nth-child(3)").textContent()).toMatch(/^0\s%$/);
    await page.goto(`${demo.url}#/limiter?name=downloads`);
    await settle(page);
    const text = ((await page.locator("main").textContent()) ?? "").replaceAll(/\s+/g, " ");
    expect(text).toMatch(/It would now deny .+ would have been denied in the last hour/);
    expect(text).toContain("Would be denied most");
    expect(text).toMatch(/allowed ?would be denied ?decided without Redis/);
    expect(text).not.toMatch(/\d were denied|Most denied|Denials by limit/);
    await page.close();
  });

  test("explains why a client is denied", async () => {
    const page = await open("#/", { timezoneId: zoneOfNoon() });
    await page.getByLabel("Find a client").fill("203.0.113.250");
    await page.keyboard.press("Enter");
    await expect
      .poll(() => page.locator("h1").last().textContent())
      .toMatch(
        /^203\.0\.113\.250 is denied until \d\d:\d\d:\d\d by a block that a limit set in signup\.$/,
      );
    // What ends sooner comes second.
    expect(await page.locator(".headline p").textContent()).toMatch(
      /^Also denied in 1 other limiter: login until \d\d:\d\d:\d\d\.$/,
    );
    expect(page.url()).toBe(`${demo.url}#/subject?subject=203.0.113.250`);
    await page.goBack();
    await expect.poll(() => page.locator("h1").textContent()).toContain("denied now");
    await page.close();
  });

  test("says of a client that is allowed in one limiter that others may deny it, and looks in all", async () => {
    const page = await open("#/subject?subject=partner-7&limiter=search");
    const headline = page.locator(".headline");
    await expect
      .poll(() => headline.textContent())
      .toBe("partner-7 is allowed now in search.Other limiters may deny it. Look in all");
    await page.getByRole("link", { name: "Look in all" }).click();
    await expect.poll(() => headline.textContent()).toMatch(/^partner-7 is allowed now\.The next/);
    expect(page.url()).toBe(`${demo.url}#/subject?subject=partner-7`);
    await page.close();
  });

  test("shows an end as the second in which it is over", async () => {
    const { control } = recordingAt(Date.now());
    const until = Math.ceil(Date.now() / 1_000) * 1_000 + 60_400;
    const blocks = control.blocks.map((block) => ({ ...block, until }));
    demo.overrides.set("control", { status: 200, body: { ...control, blocks } });
    const page = await open("#/control", { timezoneId: "UTC" });
    const time = page.getByLabel("Blocks, as a table").locator("tbody time").first();
    await expect
      .poll(() => time.textContent())
      .toContain(new Date(until + 600).toISOString().slice(17, 19));
    await page.close();
  });

  test("cuts no hint in an empty field, from 360 px on", async () => {
    const page = await open("#/");
    for (const hash of ["#/", "#/limiter", "#/subject", "#/log"]) {
      await page.goto(demo.url + hash);
      await settle(page);
      for (const width of [360, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        expect(await cutHints(page), `${hash}, ${width} px`).toEqual([]);
      }
    }
    await page.close();
  });

  test("shows no age of figures in views that have none", async () => {
    const page = await open("#/");
    for (const [hash, ages] of [
      ["#/log", 1],
      ["#/subject", 0],
      ["#/subject?subject=partner-7", 1],
      ["#/report", 0],
    ] as const) {
      await page.goto(demo.url + hash);
      await expect.poll(() => page.locator(".age").count(), { message: hash }).toBe(ages);
    }
    await page.close();
  });

  test("does not mark the figures of an earlier visit as live before the next response", async () => {
    demo.session = { pollMs: 200 };
    const page = await open("#/log");
    await expect.poll(() => page.locator(".age.good").count()).toBe(1);
    await page.goto(`${demo.url}#/control`);
    await page.locator("h1", { hasText: "in force" }).waitFor();
    await page.route("**/api/log*", () => {});
    await page.goto(`${demo.url}#/log`);
    await page.locator(".age.old").waitFor();
    expect(await page.locator("h1").textContent()).toBe("Operator actions");
    await page.close();
  });

  test("searches in the limiter that was typed, whatever is typed after it", async () => {
    const page = await open("#/subject");
    await page.getByLabel("Only in limiter").fill("signup");
    await page.getByLabel("Client identified by").selectOption("text");
    await page.getByLabel("Key", { exact: true }).fill("partner-7");
    await page.getByRole("button", { name: "Look up" }).click();
    await expect
      .poll(() => page.url())
      .toBe(`${demo.url}#/subject?subject=partner-7&limiter=signup`);
    expect(await page.getByLabel("Only in limiter").inputValue()).toBe("signup");
    await page.close();
  });

  test("keeps what a visitor has opened in a client's limiters when another one lasts longest", async () => {
    demo.session = { pollMs: 200 };
    const page = await open("#/subject?subject=203.0.113.250");
    const names = () => page.locator("section.verdict.denied h2 a").allTextContents();
    await expect.poll(names).toEqual(["signup", "login"]);
    const details = page.getByRole("region", { name: "In login" }).locator("details");
    expect(await details.getAttribute("open")).toBe("");
    await details.locator("summary").click();
    const view = recordingAt(Date.now()).subjects["203.0.113.250"];
    const limiters = view?.limiters.map((one) =>
      one.name === "login" ? { ...one, until: one.until && one.until + 86_400_000 } : one,
    );
    demo.overrides.set("subject", { status: 200, body: { ...view, limiters } });
    await expect.poll(names).toEqual(["login", "signup"]);
    expect(await details.getAttribute("open")).toBe(null);
    await page.close();
  });

  test("tells versions of a policy from several ways in which a limiter counts a client", async () => {
    const view = recordingAt(Date.now()).subjects["198.51.100.7"];
    const [login, ...others] = view?.limiters ?? [];
    for (const [subject, badges] of [
      [login?.subject, 2],
      [{ default: "198.51.100.0/24" }, 0],
    ] as const) {
      const skipped = [{ name: "api", countsBy: "counts user" }];
      const limiters = [login, { ...login, subject }, ...others];
      const body = { ...view, limiters, skipped: [...skipped, ...skipped] };
      demo.overrides.set("subject", { status: 200, body });
      const page = await open("#/subject?subject=198.51.100.7");
      await expect.poll(() => page.locator("section.verdict").count()).toBe(3);
      expect(await page.getByText("one of 2 versions").count()).toBe(badges);
      expect(await page.locator(".skipped li").count()).toBe(1);
      expect(await page.locator(".headline p").textContent()).toContain("all 2 limiters");
      await page.close();
    }
  });

  test("shows the overview also while Redis is too slow to list the most denied clients", async () => {
    const overview = recordingAt(Date.now()).overview["1h"];
    demo.overrides.set("overview", { status: 200, body: { ...overview, denied: null } });
    const page = await open("#/");
    const clients = page.getByRole("region", { name: "Most denied clients" });
    await expect.poll(() => clients.textContent()).toContain("Redis was too slow to list them.");
    expect(await page.locator("h1").textContent()).toContain("denied now");
    expect(await violations(page)).toEqual([]);
    await page.close();
  });

  test("keeps a header's value out of the URL and of storage", async () => {
    const page = await open("#/subject");
    await page.getByLabel("Client identified by").selectOption("header");
    await page.getByLabel("Value").fill("sk-live-4711");
    await page.keyboard.press("Enter");
    await expect.poll(() => demo.requests).toContain("POST subject");
    const kept = await page.evaluate(
      "JSON.stringify([localStorage, sessionStorage, history.state])",
    );
    expect(`${page.url()} ${kept}`).not.toContain("4711");
    expect(page.url()).toContain("header=x-api-key");
    await page.close();
  });

  test("marks a block in shadow mode as denying no request", async () => {
    const { control } = recordingAt(Date.now());
    const [first, ...others] = control.blocks;
    const body = { ...control, blocks: [{ ...first, shadow: true }, ...others] };
    demo.overrides.set("control", { status: 200, body });
    const page = await open("#/control");
    const limiters = page.getByLabel("Blocks, as a table").locator("tbody td:nth-child(2)");
    await expect
      .poll(() => limiters.allTextContents())
      .toEqual(["loginshadow: denies no request", "export", "signup"]);
    await page.close();
  });

  test("says which breakers are open, by their names if they are used without targets", async () => {
    const { breakers: view, log } = recordingAt(Date.now());
    const [payments] = view.breakers;
    const target = { target: "default", state: "open", successRate: 0.2, calls: 40 };
    const alone = { ...view, breakers: [{ ...payments, targets: [target] }] };
    demo.overrides.set("breakers", { status: 200, body: alone });
    const page = await open("#/breakers");
    const headline = page.locator(".headline");
    await expect
      .poll(() => headline.textContent())
      .toBe("payments is open: its calls fail at once.");
    const cell = page.getByLabel("Targets of payments").locator("tbody td").first();
    expect(await cell.textContent()).toBe("default calls without a target");
    await pressed(page, /^Orders for/);
    await pressed(page, "Force open…");
    expect(await page.locator("dialog .action-target").textContent()).toBe(
      "Calls without a target, of the breaker payments",
    );
    await page.close();
    const order = log.rows.find(({ kind }) => kind === "breaker");
    const rows = [{ ...order, subject: { target: "default" } }];
    demo.overrides.set("log", { status: 200, body: { ...log, rows } });
    const actions = await open("#/log");
    await expect
      .poll(() => actions.locator(".actions .did p").allTextContents())
      .toEqual(["ann@example.com gave an order to payments: “Provider maintenance”"]);
    await actions.close();
    demo.overrides.delete("breakers");
    const all = await open("#/breakers");
    await expect
      .poll(() => all.locator(".headline li").allTextContents())
      .toEqual([
        "https://pay.example.net of payments is open: its calls fail at once",
        "search-b of search-cluster is half-open: it gets trial calls only",
        "search-c of search-cluster is forced open by an operator: its calls fail at once",
      ]);
    await all.close();
  });

  test("shows which processes shed load, whom, and since when", async () => {
    const overview = recordingAt(Date.now()).overview["1h"];
    const [first, second, ...others] = overview.processes;
    const from = Date.UTC(2026, 10, 22, 14);
    const episode = {
      from,
      until: from + 60_000,
      default: 1_204,
      sheddable: 800,
      heavySubjects: 12,
    };
    const listing = (isOver: boolean) => ({
      "shedder api": { dryRun: false, episode: { ...episode, isOver } },
    });
    const processes = [
      { ...first, details: listing(false) },
      { ...second, details: listing(true) },
      ...others,
    ];
    demo.overrides.set("overview", { status: 200, body: { ...overview, processes } });
    const page = await open("#/", { viewport: { width: 360, height: 800 } });
    const cells = page.getByLabel("Processes").locator("tbody tr td:last-child");
    const whom = "2,004 requests, 800 of them sheddable, 12 of heavy subjects, from ";
    await expect
      .poll(() => cells.allTextContents())
      .toEqual([
        expect.stringContaining(`sheds ${whom}`),
        expect.stringMatching(new RegExp(`^ ?${whom}.+ to .+`)),
        ...others.map(() => "no load shedder"),
      ]);
    expect(await page.locator(".attention").textContent()).toContain("1 process sheds load");
    expect(await violations(page)).toEqual([]);
    expect(await isTooWide(page)).toBe(false);
    await page.close();
  });

  test("previews an action, requires a reason, and counts down until it is in force", async () => {
    const page = await open("#/subject?subject=203.0.113.250");
    await pressed(page, /^Block…/);
    const dialog = page.getByRole("dialog");
    await expect.poll(() => dialog.textContent()).toContain("blocked for 1 h");
    expect(await dialog.textContent()).toContain(
      "In force in every process 2 s after you confirm.",
    );
    const block = dialog.getByRole("button", { name: "Block" });
    expect(await block.isDisabled()).toBe(true);
    expect(await dialog.getByText("Give a reason to confirm.").count()).toBe(1);
    expect(await dialog.getByText("Reason, for the log (required)").count()).toBe(1);
    await dialog.getByLabel("Reason").fill("OPS-1");
    await dialog.getByRole("button", { name: "Block" }).click();
    await expect.poll(() => dialog.textContent()).toContain("In force everywhere at");
    await expect.poll(() => dialog.textContent()).toContain("In force everywhere since");
    const before = demo.requests.filter((one) => one === "POST subject").length;
    await page.keyboard.press("Escape");
    await expect
      .poll(() => demo.requests.filter((one) => one === "POST subject").length)
      .toBeGreaterThan(before);
    await page.close();
  });

  test("shows the current state if it has changed since the preview, and explains each error", async () => {
    const page = await open("#/control");
    await pressed(page, "Unblock");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Reason").fill("OPS-1");
    const state = "not blocked";
    const preview = { before: state, after: state, at: 0, effectiveAt: 0, token: "2" };
    demo.overrides.set("act", {
      status: 409,
      body: { error: { code: "CHANGED", message: "" }, preview },
    });
    await dialog.getByRole("button", { name: "Unblock" }).click();
    await expect.poll(() => dialog.textContent()).toContain("has changed since it was shown");
    expect(await dialog.textContent()).toContain("not blocked");
    for (const [status, words] of [
      [429, "Slow down. Try again in 12 s. Nothing was done."],
      [503, "It is not known whether it was done."],
    ] as const) {
      const error = { code: "NO", message: "Slow down" };
      demo.overrides.set("act", { status, body: { error }, headers: { "retry-after": "12" } });
      await dialog.getByRole("button", { name: "Unblock" }).click();
      await expect.poll(() => dialog.textContent()).toContain(words);
    }
    await page.close();
  });

  test("says that nothing was done if only the preview fails, and not after an attempt that may have succeeded", async () => {
    const away = { code: "HEADGATE_STORE_UNAVAILABLE", message: "Redis did not answer" };
    const unavailable = { status: 503, body: { error: away } };
    demo.overrides.set("preview", unavailable);
    const page = await open("#/control");
    await pressed(page, "Unblock");
    const dialog = page.getByRole("dialog");
    const failure = dialog.locator(".notice");
    await expect.poll(() => failure.textContent()).toContain("not answer. Nothing was done.");
    demo.overrides.delete("preview");
    demo.overrides.set("act", unavailable);
    await dialog.getByLabel("Reason").fill("OPS-1");
    await pressed(page, "Preview again");
    await dialog.getByRole("button", { name: "Unblock", exact: true }).click();
    await expect.poll(() => failure.textContent()).toContain("It is not known whether it was done");
    demo.overrides.set("preview", unavailable);
    const before = demo.requests.length;
    await pressed(page, "Preview again");
    await expect.poll(() => demo.requests.slice(before)).toContain("POST preview");
    await expect.poll(() => failure.textContent()).toContain("It is not known whether it was done");
    expect(await failure.textContent()).not.toContain("Nothing was done");
    await page.close();
  });

  test("does not say that no process has a limiter whose limits could not be read", async () => {
    const page = await open("#/subject?subject=203.0.113.250");
    demo.overrides.set("limiter", { status: 503, body: { error: { code: "NO", message: "" } } });
    await pressed(page, /^Override…/);
    const dialog = page.getByRole("dialog");
    await expect.poll(() => dialog.textContent()).toContain("Its limits could not be read.");
    expect(await dialog.textContent()).not.toContain("no process");
    await page.close();
  });

  test("shows no action to a visitor who may not act", async () => {
    demo.session = { by: null, actions: [] };
    for (const hash of [
      "#/limiter?name=login",
      "#/subject?subject=203.0.113.250",
      "#/control",
      "#/breakers",
    ]) {
      const page = await open(hash);
      await settle(page);
      expect(await page.locator("main button", { hasText: /[…⋯]/ }).count()).toBe(0);
      expect(await page.getByText("read only").count()).toBe(1);
      await page.close();
    }
  });

  const redisAway = (outage: Partial<Outage> = {}) => {
    const local = { name: "api", onUnavailable: "local", localShare: 1 } as const;
    const body = {
      error: { code: "HEADGATE_STORE_UNAVAILABLE", message: "Redis did not answer" },
      outage: {
        since: Date.now() - 245_000,
        at: Date.now(),
        servers: ["redis-1.internal:6379"],
        isDirect: true,
        limiters: [
          local,
          { ...local, name: "search" },
          { ...local, name: "login", localShare: 0.25 },
          { name: "export", onUnavailable: "allow", localShare: null },
          { name: "billing", onUnavailable: "deny", localShare: null },
        ],
        listedAt: Date.now() - 250_000,
        ...outage,
      },
    };
    for (const view of ["overview", "limiter", "subject", "breakers", "redis"])
      demo.overrides.set(view, { status: 503, body });
  };

  test("while Redis is unavailable, says what requests get, and greys the last figures with their age", async () => {
    demo.session = { pollMs: 200 };
    for (const [hash, figure] of [
      ["#/", "of requests were denied."],
      ["#/breakers", "https://pay.example.net"],
      ["#/redis", "Redis answered in"],
    ] as const) {
      const page = await open(hash);
      redisAway();
      const away = page.getByRole("region", { name: "Redis does not answer" });
      await expect.poll(() => away.textContent()).toContain("Redis does not answer.");
      // Screen readers announce the headline, and not the duration, which changes every second.
      expect(await away.getByRole("alert").allTextContents()).toEqual(["Redis does not answer."]);
      expect(await page.locator("[aria-live]", { has: page.locator(".away") }).count()).toBe(0);
      expect(await away.locator("[aria-live]").count()).toBe(0);
      const text = (await away.textContent()) ?? "";
      expect(text).toContain("redis-1.internal:6379 has not answered this page for 4 min ");
      expect(text).toContain(
        "api, search: each process limits by itself, with the whole of every limit: n processes allow up to n times as much.",
      );
      expect(text).toMatch(/login: each process limits by itself, with 25\.0\s% of every limit\./);
      expect(text).toContain("export: all are allowed, without limits.");
      expect(text).toContain("billing: all are denied, with status 503.");
      // Not `npx headgate`, which would run somebody else's package where the command is not installed.
      expect(text).toContain("npx @headgate/cli doctor");
      expect(await away.getByRole("link", { name: "your runbook" }).getAttribute("href")).toBe(
        "https://wiki.example.com/runbooks/redis",
      );
      const last = page.getByRole("region", { name: "The last figures" });
      expect(await last.textContent()).toContain(figure);
      expect(await last.textContent()).not.toMatch(/\bnow\b|answers in/);
      expect(await violations(page), hash).toEqual([]);
      await page.setViewportSize({ width: 360, height: 800 });
      expect(await isTooWide(page), hash).toBe(false);
      await expect.poll(() => page.locator(".age").textContent()).toMatch(/^Not live: \d+ s old$/);
      demo.overrides.clear();
      await pressed(page, "Not live");
      await expect.poll(() => page.locator("main").textContent()).not.toContain("does not answer");
      expect(await last.count()).toBe(0);
      await page.close();
    }
  });

  test("while Redis is unavailable, another view says so before its own request has failed", async () => {
    demo.session = { pollMs: 200 };
    const page = await open("#/");
    await page.goto(`${demo.url}#/breakers`);
    await settle(page);
    redisAway();
    const away = page.getByRole("region", { name: "Redis does not answer" });
    await away.waitFor();
    // Not answered, as by a server whose own request to Redis still waits.
    await page.route("**/api/overview*", () => {});
    await page.goto(`${demo.url}#/`);
    await page
      .getByRole("region", { name: "The last figures" })
      .getByText("were denied.")
      .waitFor();
    expect(await away.count()).toBe(1);
    expect(await page.locator(".age").textContent()).toMatch(/^Not live: /);
    demo.overrides.clear();
    await page.goto(`${demo.url}#/breakers`);
    await away.waitFor({ state: "detached" });
    await page.goto(`${demo.url}#/log`);
    await settle(page);
    expect(await away.count()).toBe(0);
    await page.close();
  });

  test.each([
    ["#/limiter?name=search", "It denied "],
    ["#/subject?subject=203.0.113.250", "203.0.113.250 was denied until "],
    ["#/subject?subject=198.51.100.7", "198.51.100.7 was allowed."],
    ["#/breakers", "were not called normally."],
  ])("while Redis is unavailable, %s says nothing of now", async (hash, figure) => {
    demo.session = { pollMs: 200 };
    const page = await open(hash);
    redisAway();
    const last = page.getByRole("region", { name: "The last figures" });
    await expect.poll(() => last.textContent()).toContain(figure);
    expect(await last.textContent()).not.toMatch(/\bnow\b/);
    await page.close();
  });

  test("a first visit while Redis is unavailable shows the same, without figures", async () => {
    redisAway({ listedAt: null, limiters: [], servers: [] });
    const page = await open("#/");
    const text = (await page.locator("main").textContent()) ?? "";
    expect(text).toContain("It has not answered this page for 4 min ");
    expect(text).toContain("By default, each process goes on limiting by itself.");
    expect(await page.locator("h1").allTextContents()).toEqual([
      "Redis does not answer.",
      "Overview",
    ]);
    await page.close();
  });

  test("shows the checks of Redis that could not be made, and does not call Redis in order then", async () => {
    const { redis } = recordingAt(Date.now());
    const findings = redis.findings.filter(({ level }) => level !== "warning");
    const missing = { level: "unknown", title: "The user may not run INFO" } as const;
    for (const [some, headline, rest] of [
      [findings, "Redis is in order.", "Findings"],
      [[...findings, missing], "1 check could not be made.", "Findings"],
      [[...redis.findings, missing], "1 finding needs attention.", "The rest"],
    ] as const) {
      demo.overrides.set("redis", { status: 200, body: { ...redis, findings: some } });
      const page = await open("#/redis");
      await expect.poll(() => page.locator("h1").textContent()).toBe(headline);
      const shown = await page.getByRole("region", { name: rest }).locator("li").allTextContents();
      expect(shown.some((text) => text.includes(missing.title))).toBe(some !== findings);
      await page.close();
    }
  });

  test("does not say of sentinels, which may answer, that they do not", async () => {
    redisAway({ servers: ["s1:26379", "s2:6379"], isDirect: false });
    const page = await open("#/");
    expect(await page.locator("main").textContent()).toContain(
      "Redis, found through s1:26379, s2:6379, has not answered this page for 4 min ",
    );
    await page.close();
  });

  test("tells how long Redis has been away also if the clock of the dashboard's process is wrong", async () => {
    const at = Date.now() - 3_600_000;
    redisAway({ at, since: at - 245_000 });
    const page = await open("#/");
    expect(await page.locator("main").textContent()).toContain(
      " not answered this page for 4 min ",
    );
    await page.close();
  });

  test("sends no requests in a hidden tab", async () => {
    demo.session = { pollMs: 50 };
    const page = await open("#/log");
    await page.evaluate(`
      Object.defineProperty(document, "hidden", { get: () => globalThis.isHidden, configurable: true });
      globalThis.isHidden = true;
      document.dispatchEvent(new Event("visibilitychange"));
    `);
    await page.waitForLoadState("networkidle");
    const before = demo.requests.length;
    await page.evaluate("new Promise((resolve) => setTimeout(resolve, 400))");
    expect(demo.requests.length).toBe(before);
    await page.evaluate(`
      globalThis.isHidden = false;
      document.dispatchEvent(new Event("visibilitychange"));
    `);
    await expect.poll(() => demo.requests.length).toBeGreaterThan(before);
    await page.close();
  });

  test("shows a recording without a server, and refuses every action", async () => {
    const page = await browser.newPage({ reducedMotion: "reduce" });
    await page.route("**/limits/", async (route) => {
      const response = await route.fetch();
      const html = (await response.text()).replace('content="api/"', 'content="recording.json"');
      await route.fulfill({ response, body: html });
    });
    const hourAgo = recordingAt(Date.now() - 3_600_000);
    await page.route("**/recording.json", (route) => route.fulfill({ json: hourAgo }));
    await page.goto(`${demo.url}#/control`);
    await pressed(page, "Unblock");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Reason").fill("OPS-1");
    await dialog.getByRole("button", { name: "Unblock" }).click();
    await expect.poll(() => dialog.textContent()).toContain("This is a recording");
    expect(await page.locator(".age").textContent()).toMatch(/just now|^\d+ s old/);
    expect(demo.requests).toEqual([]);
    await page.close();
  });

  test("shows hostile names as text, in every view", async () => {
    demo.rename = (text) =>
      text.replaceAll(/login|api|search|203\.0\.113\.250|payments|ann@example\.com/g, HOSTILE);
    for (const hash of [
      "#/",
      "#/limiter?name=search",
      "#/subject?subject=203.0.113.250",
      "#/breakers",
      "#/control",
      "#/log",
    ]) {
      const page = await open(hash, { viewport: { width: 360, height: 800 } });
      await settle(page);
      expect(await page.evaluate("globalThis.hit")).toBeUndefined();
      expect(await page.locator("main img").count()).toBe(0);
      expect(await page.locator("main").textContent(), hash).toContain("\\u{202e}gnp");
      expect(await page.locator("main").textContent(), hash).not.toMatch(/[\u202e\0]/);
      expect(await isTooWide(page), hash).toBe(false);
      await page.close();
    }
    demo.rename = undefined;
  });
});
