import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hostileResult } from "../../cli/results.ts";
import { runCli } from "../../cli/run-cli.ts";
import { hasChromium, startChromium } from "../../support/chromium.ts";
import type { DemoServer } from "./demo-server.ts";
import { serveDemo } from "./demo-server.ts";
import { isTooWide, violations } from "./page-checks.ts";

const SAMPLE = join(import.meta.dirname, "../../../examples/access-log/sample.log");

const printed = async (...args: string[]): Promise<string> =>
  (await runCli([...args, SAMPLE, "--json"])).stdout;

describe.runIf(hasChromium())("the report view of the dashboard's page", () => {
  let browser: Browser;
  let demo: DemoServer;
  let documents: readonly string[];

  beforeAll(async () => {
    [browser, demo] = await Promise.all([startChromium(), serveDemo()]);
    documents = [await printed("replay"), await printed("recommend", "--window", "1m")];
  });

  afterAll(() => Promise.all([browser?.close(), demo?.close()]));

  const show = async (options: object = {}): Promise<Page> => {
    const page = await browser.newPage({ reducedMotion: "reduce", ...options });
    await page.goto(`${demo.url}#/report`);
    await page.locator("h1").first().waitFor();
    return page;
  };

  const open = (page: Page, text: string, name = "report.json"): Promise<void> =>
    page
      .getByLabel(/^Open a/)
      .setInputFiles({ name, mimeType: "application/json", buffer: Buffer.from(text) });

  test("draws the JSON output of replay and recommend, and sends it nowhere", async () => {
    const page = await show();
    const complaints: string[] = [];
    page.on("console", (message) => complaints.push(message.text()));
    const before = demo.requests.length;
    for (const [i, heading] of [/would have denied/, /^Recommended limit: /].entries()) {
      await open(page, documents[i] ?? "");
      const report = page.locator(".report");
      await expect.poll(() => report.locator("h1").textContent()).toMatch(heading);
      for (const part of [
        "What would change",
        "Requests over time",
        "Peak rates of clients",
        "The log",
      ]) {
        expect(await report.getByRole("heading", { name: part, exact: true }).count()).toBe(1);
      }
      expect(await report.locator("svg").count()).toBeGreaterThan(3);
    }
    expect(complaints).toEqual([]);
    expect(demo.requests.slice(before)).toEqual([]);
    // The report is still there after returning to the view.
    await page.getByRole("link", { name: "Log", exact: true }).click();
    await expect.poll(() => page.locator("h1").first().textContent()).not.toContain("Recommended");
    await page.goBack();
    await expect.poll(() => page.locator(".report h1").textContent()).toContain("Recommended");
    await page.close();
  });

  test.each(["light", "dark"] as const)(
    "passes axe-core in the %s scheme, from 360 px",
    async (colorScheme) => {
      for (const width of [360, 1_280]) {
        const page = await show({ colorScheme, viewport: { width, height: 800 } });
        expect(await violations(page), `${width} px`).toEqual([]);
        await open(page, documents[1] ?? "");
        await page.locator(".report h1").waitFor();
        expect(await violations(page), `${width} px`).toEqual([]);
        expect(await isTooWide(page), `${width} px`).toBe(false);
        await page.close();
      }
    },
  );

  test("shows the file that was chosen last, also if an earlier one takes longer to read", async () => {
    const page = await show();
    await page.evaluate(`{
      const { text } = File.prototype;
      File.prototype.text = async function () {
        if (this.name !== "slow.json") return text.call(this);
        const read = await text.call(this);
        await new Promise((resolve) => { globalThis.goOn = resolve; });
        return read;
      };
    }`);
    await open(page, documents[0] ?? "", "slow.json");
    await page.waitForFunction("globalThis.goOn !== undefined");
    await open(page, documents[1] ?? "", "fast.json");
    const heading = page.locator(".report h1");
    await expect.poll(() => heading.textContent()).toMatch(/^Recommended limit: /);
    await page.evaluate("globalThis.goOn()");
    // By then, everything that follows has happened.
    await page.evaluate(
      "new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))",
    );
    expect(await page.locator(".open-report").textContent()).toContain("fast.json");
    expect(await heading.textContent()).toMatch(/^Recommended limit: /);
    await page.close();
  });

  test("can open a file by keyboard alone", async () => {
    const page = await show();
    const chooser = page.waitForEvent("filechooser");
    await page.getByLabel("Open a report").focus();
    await page.keyboard.press("Enter");
    const buffer = Buffer.from(documents[0] ?? "");
    await (await chooser).setFiles({ name: "r.json", mimeType: "application/json", buffer });
    await page.locator(".report h1").waitFor();
    await page.close();
  });

  test("shows hostile content of a report as text", async () => {
    const page = await show();
    await open(
      page,
      JSON.stringify(hostileResult()),
      `<img src=x onerror="globalThis.hit=1">\u202e.json`,
    );
    await page.locator(".report h1").waitFor();
    expect(await page.evaluate("globalThis.hit")).toBeUndefined();
    expect(await page.locator("main img, main script, main iframe, main a[href]").count()).toBe(0);
    expect(await page.locator("main").textContent()).not.toContain("\u202e");
    expect(await isTooWide(page)).toBe(false);
    await page.close();
  });

  test("explains why a file is no report, and can open the next one", async () => {
    const page = await show();
    const document = JSON.parse(documents[0] ?? "");
    const [policy] = document.policies;
    const markup = { markup: "<img src=x onerror='globalThis.hit=1'>" };
    const withPolicy = (changes: object): string =>
      JSON.stringify({ ...document, policies: [{ ...policy, ...changes }] });
    for (const [text, why] of [
      ["", "it is not JSON"],
      ["{}", "the report.log is no object"],
      ["null", "the report is no object"],
      [JSON.stringify({ ...document, policies: [] }), "the report has no policy"],
      [withPolicy({ name: markup }), "policies[0].name is no text"],
      [withPolicy({ denied: markup }), "policies[0].denied is no number"],
      [withPolicy({ timeline: ["1' onload=alert(1)"] }), "timeline[0] is no number"],
      [withPolicy({ description: undefined }), "policies[0].description is no object"],
      [JSON.stringify({ ...document, log: { ...document.log, from: 9e15 } }), "time"],
      [`{"__proto__":${JSON.stringify(document)}}`, "the report.log is no object"],
    ] as const) {
      await open(page, text);
      await expect
        .poll(() => page.getByRole("alert").textContent(), { message: text })
        .toContain(why);
      expect(await page.locator(".report").count()).toBe(0);
    }
    expect(await page.evaluate("globalThis.hit")).toBeUndefined();
    await open(page, documents[0] ?? "");
    await page.locator(".report h1").waitFor();
    await page.close();
  });
});
