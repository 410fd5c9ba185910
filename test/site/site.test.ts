import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { REPOSITORY } from "../../docs/.vitepress/repository.ts";
import { linksOf, readParts } from "../../docs/.vitepress/sidebar.ts";
import { ROOT } from "../docs/markdown.ts";
import { hasChromium, startChromium } from "../support/chromium.ts";
import { buildSite, DIST } from "./build-site.ts";
import { belowFirstScreen } from "./first-screen.ts";
import type { Look } from "./look.ts";
import { findWide, lookAt, openTab } from "./look.ts";
import { testMarkdownPages } from "./markdown-pages.ts";
import { testPlayground } from "./playground.ts";
import { testSearch } from "./search.ts";
import type { Served } from "./serve-site.ts";
import { serveSite } from "./serve-site.ts";

const isLong = process.env["HEADGATE_LONG"] === "1";

/** Of the build, and of all pages one after another, on a busy machine: milliseconds. */
const TIMEOUT_MS = 600_000;

/** Where the recorded dashboard is: no page of the documentation. */
const DEMO = "/demo/";

/** The pages that are in no sidebar. */
const ALONE = ["/", "/playground"];

const PHONE = { width: 360, height: 800 };
const DESK = { width: 1_440, height: 900 };

/** The screens that every page is looked at on. */
const SCREENS = [
  { width: 390, height: 844 },
  { width: 1_280, height: 800 },
] as const;

/** A colour moves nothing: in both where there is time. */
const SCHEMES = isLong ? (["dark", "light"] as const) : (["light"] as const);

/** The pages of all sidebars, in their order. */
let links: string[];

beforeAll(async () => {
  await buildSite();
  links = readParts().flatMap(linksOf);
}, TIMEOUT_MS);

test("the sidebars have each page once, and no other", () => {
  const files = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
    .filter((file) => /^[^.].*\/.*\.md$/.test(file) && !file.includes("node_modules"))
    .map((file) => `/${file.replace(/(index)?\.md$/, "")}`);
  expect(links.toSorted()).toEqual(files.toSorted());
});

test("no page links to an example address", () => {
  const files = readdirSync(DIST, { recursive: true, encoding: "utf8" });
  const pages = files.filter((file) => file.endsWith(".html"));
  expect(pages.length).toBeGreaterThan(50);
  const linking = pages.filter((file) =>
    /<a [^>]*href="https?:\/\/(?:[\w-]+\.)*example\.(?:com|org|net)/.test(
      readFileSync(join(DIST, file), "utf8"),
    ),
  );
  expect(linking).toEqual([]);
});

test("the API pages cover the public entries and nothing internal", () => {
  expect(links).toContain("/reference/api/core-http");
  expect(links).not.toContain("/reference/api/core-internal");
  const page = readFileSync(join(ROOT, "docs/reference/api/core-http.md"), "utf8");
  expect(page).toMatch(/^## createHttpGuard\(\)/m);
  expect(/^## createGuard\b/m.test(page)).toBe(false);
});

testMarkdownPages(() => links);
testSearch();

describe.skipIf(!hasChromium())("in a real browser, where there is one, the site", () => {
  let browser: Browser;
  let site: Served;
  beforeAll(async () => {
    [browser, site] = await Promise.all([startChromium(), serveSite()]);
  });
  afterAll(async () => {
    await browser?.close();
    await site?.close();
  });

  /** Goes to each of the pages in a tab, and has it looked at; fails when one complains. */
  async function visit(
    paths: readonly string[],
    viewport: typeof PHONE,
    look: (page: Page, path: string) => Promise<void>,
  ): Promise<void> {
    const { page, problems } = await openTab(browser, site.origin, { viewport });
    onTestFinished(() => page.close());
    for (const path of paths) {
      await page.goto(`${site.origin}${path}`);
      await look(page, path);
      expect(problems(), path).toEqual([]);
    }
  }

  /** The first page of each part, and one of the API: pages of a part are alike. All pages where there is time. */
  const some = (): readonly string[] =>
    isLong ? links : [...readParts().flatMap((part) => linksOf(part)[0] ?? []), "/reference/api/"];

  test("can be clicked through without errors", async () => {
    await visit(["/"], DESK, async (page) => {
      for (const part of readParts()) {
        const own = linksOf(part);
        await page.locator(`.VPNavBarMenu a[href="${own[0]}"]`).click();
        for (const link of own) {
          await page.locator(`.VPSidebar a[href="${link}"]`).click();
          await page.waitForURL(`${site.origin}${link}`);
          await page.locator(`.VPSidebar .is-active > .item > a[href="${link}"]`).waitFor();
          await page.locator(".vp-doc h1").waitFor();
        }
      }
    });
  }, 300_000);

  test("fits a phone, shows its images, and has no dead link", async () => {
    const looks = new Map<string, Look>();
    await visit([...ALONE, ...links], PHONE, async (page, path) => {
      looks.set(path, await lookAt(page));
      for (const screen of SCREENS) {
        await page.setViewportSize(screen);
        for (const colorScheme of SCHEMES) {
          await page.emulateMedia({ colorScheme });
          const where = `${path}, ${screen.width} px, ${colorScheme}`;
          expect(await findWide(page), where).toEqual([]);
        }
      }
      await page.setViewportSize(PHONE);
    });
    const seen = [...looks].map(([path, { links: hrefs, missingImages, tooWide }]) => ({
      path,
      deadLinks: hrefs.filter((link) => isDead(link, looks)),
      missingImages,
      tooWide,
    }));
    expect(seen).toEqual(
      seen.map(({ path }) => ({ path, deadLinks: [], missingImages: [], tooWide: [] })),
    );
  }, 300_000);

  /** Whether the target of a link is missing. Links to other hosts are not checked. */
  function isDead(link: string, looks: ReadonlyMap<string, Look>): boolean {
    const [whole = "", hash = ""] = link.split("#");
    const [url = ""] = whole.split("?");
    const file = url.match(/^(.*)\/(?:blob|edit)\/main\/(.*)$/);
    if (file !== null && file[1] === REPOSITORY) return !existsSync(join(ROOT, file[2] ?? ""));
    if (!url.startsWith(`${site.origin}/`)) return false;
    if (url === `${site.origin}${DEMO}`) return !existsSync(join(DIST, DEMO, "index.html"));
    const target = looks.get(url.slice(site.origin.length));
    if (target === undefined) return true;
    return hash !== "" && !target.ids.includes(decodeURIComponent(hash));
  }

  test(
    "can be used by everybody, in the light and in the dark",
    async () => {
      await visit([...ALONE, ...some()], PHONE, async (page, path) => {
        if (ALONE.includes(path)) await page.locator(".time-line svg").first().waitFor();
        await page.evaluate(axe.source);
        for (const colorScheme of ["light", "dark"] as const) {
          await page.emulateMedia({ colorScheme });
          await page.waitForFunction(IS_IN[colorScheme]);
          const { violations } = (await page.evaluate(
            "axe.run({ resultTypes: ['violations'], preload: false })",
          )) as axe.AxeResults;
          const found = violations
            .filter(({ impact }) => impact === "serious" || impact === "critical")
            .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`);
          expect(found, `${path}, ${colorScheme}`).toEqual([]);
        }
      });
    },
    TIMEOUT_MS,
  );

  test.each(SCREENS)(
    "shows code, how to install it and a picture at once: $width px",
    async (screen) => {
      await visit(["/"], screen, async (page) => {
        expect(await belowFirstScreen(page)).toEqual([]);
        const [code] = await page.locator(".home .language-ts.active code").allTextContents();
        const link = page.getByRole("link", { name: "try other numbers" });
        await link.click();
        await page.waitForURL(`${site.origin}/playground?*`);
        const [, limit = ""] = /limits = (.*);/.exec(code ?? "") ?? [];
        const shown = page.locator(".playground pre");
        await expect.poll(() => shown.textContent()).toContain(limit);
      });
    },
  );

  testPlayground(() => ({ browser, origin: site.origin }));

  test("shows the recorded dashboard, which works without a server", async () => {
    await visit(["/how-to/dashboard", "/"], DESK, async (page) => {
      await page.locator(`.VPContent a[href="${DEMO}"]`).click();
      await page.waitForURL(`${site.origin}${DEMO}`);
      await expect
        .poll(() => page.locator("h1").last().textContent())
        .toMatch(/^\d+(\.\d+)?\s% of requests are denied now\.$/);
      await page.locator(".chart svg").waitFor();
      const limiter = page
        .getByRole("region", { name: "Limiters, as a table" })
        .getByRole("link")
        .first();
      const name = await limiter.textContent();
      await limiter.click();
      await expect.poll(() => page.locator("h1").last().textContent()).toContain(name);
      await page.locator(".chart svg").waitFor();
    });
  });

  test("searches without another host", async () => {
    await visit(["/"], DESK, async (page) => {
      await page.locator("#local-search button").click();
      await page.locator("#localsearch-input").fill("brute force");
      await page.locator("#localsearch-list .result").first().click();
      // The address changes before the page does.
      await page.locator(".vp-doc:has(h1)", { hasText: "guesses passwords" }).waitFor();
      expect(links).toContain(new URL(page.url()).pathname);
    });
  });
});

const IS_IN = {
  light: "!document.documentElement.classList.contains('dark')",
  dark: "document.documentElement.classList.contains('dark')",
};
