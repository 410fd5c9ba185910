import type { Page } from "playwright-core";

/** Returns the selectors of the important elements of the home page that are below the first screen. */
export async function belowFirstScreen(page: Page): Promise<string[]> {
  const needed = [
    ".home h1",
    ".home .language-sh code",
    ".home .language-ts.active code",
    ".live-picture .time-line svg",
  ];
  await page.locator(".live-picture rect").first().waitFor();
  const { height = 0 } = page.viewportSize() ?? {};
  const boxes = await Promise.all(
    needed.map(async (selector) => ({
      selector,
      box: await page.locator(selector).last().boundingBox(),
    })),
  );
  return boxes
    .filter(({ box }) => box === null || box.height < 10 || box.y + box.height > height)
    .map(({ selector }) => selector);
}
