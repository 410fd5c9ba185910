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
