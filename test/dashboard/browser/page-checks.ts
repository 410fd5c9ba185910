import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Options of axe-core: runs all rules and reports only violations. */
const QUICKLY = '{ resultTypes: ["violations"], preload: false }';

/** The violations that axe-core finds. The page's CSP forbids a script element, so the script is evaluated through the DevTools protocol. */
export async function violations(page: Page): Promise<readonly unknown[]> {
  const session = await page.context().newCDPSession(page);
  const expression = `(() => { if (globalThis.axe === undefined) { ${AXE} } return axe.run(${QUICKLY}).then(({ violations }) =>
    JSON.stringify(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 160))]))) })()`;
  const { result } = await session.send("Runtime.evaluate", { expression, awaitPromise: true });
  await session.detach();
  return JSON.parse(String(result.value)) as readonly unknown[];
}

/** Waits until a view has its first response. */
export async function settle(page: Page): Promise<void> {
  // The view of a new URL is rendered in the next frame at the latest.
  await page.evaluate(
    "new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))",
  );
  await page.locator("h1").first().waitFor();
  await page.getByText("Loading…", { exact: true }).first().waitFor({ state: "hidden" });
}

/** Whether the page scrolls sideways. */
export function isTooWide(page: Page): Promise<boolean> {
  return page.evaluate("document.documentElement.scrollWidth > innerWidth");
}

/** The placeholders that are wider than their fields. */
export function cutHints(page: Page): Promise<readonly string[]> {
  return page.evaluate(`[...document.querySelectorAll("input[placeholder]")].filter((input) => {
    const style = getComputedStyle(input);
    const context = document.createElement("canvas").getContext("2d");
    context.font = style.font;
    const padding = Number.parseFloat(style.paddingLeft) + Number.parseFloat(style.paddingRight);
    // A field for a search keeps room for the button that empties it.
    const button = input.type === "search" ? context.measureText("0").width * 2 : 0;
    return context.measureText(input.placeholder).width > input.clientWidth - padding - button;
  }).map(({ placeholder }) => placeholder)`);
}
