import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { renderReport } from "@headgate/replay";
import axe from "axe-core";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BROKEN_WORDS } from "../support/broken-words.ts";
import { hasChromium, startChromium } from "../support/chromium.ts";
import { hostileResult, sampleRecommendation, sampleResult } from "./results.ts";

const isInstalled = hasChromium();

/** Widths of a desk, a tablet, and phones. */
const WIDTHS = [1_280, 768, 390, 360];

const SCHEMES = ["light", "dark"] as const;

describe.skipIf(!isInstalled)("the report in a browser", () => {
  let browser: Browser;
  let dir: string;
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "headgate-report-"));
    const sample = await sampleResult();
    writeFileSync(join(dir, "sample.html"), renderReport(sample));
    writeFileSync(join(dir, "recommendation.html"), renderReport(sampleRecommendation(sample)));
    writeFileSync(join(dir, "hostile.html"), renderReport(hostileResult()));
    browser = await startChromium();
  });
  afterAll(async () => {
    await browser?.close();
    rmSync(dir, { recursive: true });
  });

  /** Opens a report, and collects its console messages and requests. */
  async function open(
    name: string,
    width: number,
    colorScheme: (typeof SCHEMES)[number],
    look: (page: Page) => Promise<void>,
  ): Promise<void> {
    const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme });
    const messages: string[] = [];
    const requests: string[] = [];
    page.on("console", (message) => messages.push(message.text()));
    page.on("pageerror", (error) => messages.push(String(error)));
    page.on("dialog", (dialog) => messages.push(dialog.message()));
    page.on("request", (request) => requests.push(request.url()));
    const { href } = pathToFileURL(join(dir, `${name}.html`));
    await page.goto(href);
    await look(page);
    expect(messages).toEqual([]);
    expect(requests).toEqual([href]);
    await page.close();
  }

  const ways = ["sample", "recommendation", "hostile"].flatMap((name) =>
    WIDTHS.flatMap((width) => SCHEMES.map((scheme) => [name, width, scheme] as const)),
  );

  test.each(ways)(
    "%s, %d pixels wide, %s: fits without cut-off or overlapping texts",
    async (...way) => {
      await open(...way, async (page) => {
        const [, width] = way;
        expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
        await page.evaluate(OPEN_ALL);
        expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
        expect(await page.evaluate(CUT_OFF)).toEqual([]);
        const charts = (await page.evaluate(TEXTS)) as Box[][];
        expect(charts.length).toBeGreaterThan(3);
        for (const texts of charts) expect(overlapsOf(texts)).toEqual([]);
        expect(
          charts.flat().filter(({ text }) => text.includes("requests")).length,
        ).toBeGreaterThan(1);
        // What is drawn for the other width is not there.
        expect(charts.flat().every(({ left, right }) => left >= 0 && right <= width)).toBe(true);
      });
    },
  );

  test.each(
    ["sample", "recommendation", "hostile"].flatMap((name) =>
      WIDTHS.map((width) => [name, width] as const),
    ),
  )("%s, %d pixels wide: no word breaks in the middle", async (name, width) => {
    await open(name, width, "light", async (page) => {
      await page.evaluate(OPEN_ALL);
      expect(await page.evaluate(BROKEN_WORDS)).toEqual([]);
    });
  });

  test.each(SCHEMES)("has the background of the colour scheme %s", async (scheme) => {
    await open("sample", 1_280, scheme, async (page) => {
      const background = await page.evaluate("getComputedStyle(document.body).backgroundColor");
      expect(background).toBe(scheme === "light" ? "rgb(255, 255, 255)" : "rgb(13, 17, 23)");
    });
  });

  test.each(AXE_WAYS)(
    "%s, %d pixels wide, %s: has no accessibility violation that axe-core finds",
    async (...way) => {
      await open(...way, async (page) => {
        await page.evaluate(OPEN_ALL);
        await page.evaluate(axe.source);
        const { violations } = (await page.evaluate(
          "axe.run({ resultTypes: ['violations'], preload: false })",
        )) as { violations: Violation[] };
        const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html)}`);
        expect(found).toEqual([]);
      });
    },
  );

  test("scrolls a table that is too wide in its own box, also by keyboard", async () => {
    await open("hostile", 360, "light", async (page) => {
      await page.evaluate(OPEN_ALL);
      await page.evaluate(SCROLLING);
      await page.keyboard.press("ArrowRight");
      await expect
        .poll(() => page.evaluate("document.activeElement.scrollLeft"))
        .toBeGreaterThan(0);
    });
  });
});

const OPEN_ALL = "for (const one of document.querySelectorAll('details')) one.open = true";

/** Elements whose content is wider than they are, unless they scroll. */
const CUT_OFF = `[...document.querySelectorAll("main *:not(svg, svg *, thead, thead *)")]
  .filter((one) => one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0 && getComputedStyle(one).display !== "inline")
  .filter((one) => !one.matches(".scroll") || getComputedStyle(one).overflowX !== "auto")
  .map((one) => one.outerHTML.slice(0, 200))`;

/** Gives the focus to the first box that scrolls. */
const SCROLLING = `[...document.querySelectorAll(".scroll")].find((one) => one.scrollWidth > one.clientWidth).focus()`;

/** Each page at each of two widths and in each scheme once: axe-core takes long. */
const AXE_WAYS: ReadonlyArray<readonly [string, number, (typeof SCHEMES)[number]]> = [
  ["sample", 1_280, "light"],
  ["sample", 390, "dark"],
  ["recommendation", 1_280, "dark"],
  ["recommendation", 390, "light"],
];

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

interface Box {
  readonly text: string;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** The texts of each chart that is shown. */
const TEXTS = `[...document.querySelectorAll("svg")].filter((svg) => svg.getClientRects().length > 0).map((svg) =>
  [...svg.querySelectorAll("text")].map((text) => {
    const { left, right, top, bottom } = text.getBoundingClientRect();
    return { text: text.textContent, left, right, top, bottom };
  }))`;

function overlapsOf(texts: readonly Box[]): string[] {
  return texts.flatMap((one, i) =>
    texts
      .slice(i + 1)
      .filter(
        (other) =>
          one.left < other.right &&
          other.left < one.right &&
          one.top < other.bottom &&
          other.top < one.bottom,
      )
      .map((other) => `${one.text} | ${other.text}`),
  );
}
