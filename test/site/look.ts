import type { Browser, BrowserContextOptions, Page } from "playwright-core";

/** The state of a page in the browser. */
export interface Look {
  /** The resolved URLs of its links. */
  readonly links: readonly string[];
  readonly ids: readonly string[];
  /** Sources of images that are not shown. */
  readonly missingImages: readonly string[];
  /** Elements that extend beyond the right edge of the screen outside any scrollable element. */
  readonly tooWide: readonly string[];
}

/** A page of the browser that shows one page of the site after another. */
export interface Tab {
  readonly page: Page;
  /** Returns the problems since the last call: console messages, errors, failed requests, and requests to other hosts. */
  problems(): readonly string[];
}

/** Opens a tab on the site at `origin`, with a cache of its own. */
export async function openTab(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions,
): Promise<Tab> {
  const page = await browser.newPage({ ...options, reducedMotion: "reduce" });
  const problems: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()))
      problems.push(`${page.url()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`${page.url()}: ${error}`));
  page.on("request", (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(`${origin}/`))
      problems.push(`${page.url()} requests ${request.url()}`);
  });
  page.on("requestfailed", (request) => {
    // The browser aborts prefetches when it leaves a page.
    if (request.failure()?.errorText === "net::ERR_ABORTED") return;
    problems.push(`${request.url()} failed`);
  });
  page.on("response", (response) => {
    if (response.status() >= 400) problems.push(`${response.url()}: ${response.status()}`);
  });
  return { page, problems: () => problems.splice(0) };
}

export async function lookAt(page: Page): Promise<Look> {
  return (await page.evaluate(LOOK)) as Look;
}

/** Returns code blocks and tables that are wider than their column without a scroll bar. */
export async function findWide(page: Page): Promise<readonly string[]> {
  return (await page.evaluate(WIDE)) as readonly string[];
}

const WIDE = `[...document.querySelectorAll(".vp-doc :is(pre, table)")]
  .filter((element) => element.getClientRects().length > 0)
  .filter((element) => {
    const end = element.getBoundingClientRect().left + element.scrollWidth;
    const column = element.closest(".vp-doc");
    const edge = column.getBoundingClientRect().right + 1;
    for (let box = element; box !== column; box = box.parentElement) {
      const { overflowX } = getComputedStyle(box);
      const { right } = box.getBoundingClientRect();
      if (["auto", "scroll"].includes(overflowX) && right <= innerWidth) return false;
      if (["hidden", "clip"].includes(overflowX) && end > right + 1) return true;
    }
    return end > edge;
  })
  .map((element) => element.outerHTML.slice(0, 120))`;

const LOOK = `(async () => {
  const { innerWidth } = window;
  const images = [...document.images];
  for (const image of images) image.loading = "eager";
  await Promise.all(images.map((image) => image.decode().catch(() => {})));
  const scrolls = (element) => {
    for (let one = element.parentElement; one && one !== document.body; one = one.parentElement)
      if (["auto", "scroll", "hidden"].includes(getComputedStyle(one).overflowX)
        && one.getBoundingClientRect().right <= innerWidth) return true;
    return false;
  };
  const isWide = document.documentElement.scrollWidth > innerWidth;
  return {
    links: [...document.querySelectorAll("a[href]")].map(({ href }) => href),
    ids: [...document.querySelectorAll("[id]")].map(({ id }) => id),
    missingImages: images.filter(({ naturalWidth }) => naturalWidth === 0).map(({ src }) => src),
    tooWide: !isWide ? [] : [
      document.documentElement.scrollWidth + " px",
      ...[...document.body.querySelectorAll("*")]
        .filter((one) => one.getBoundingClientRect().right > innerWidth + 0.5 && !scrolls(one))
        .map((one) => one.outerHTML.slice(0, 120)),
    ],
  };
})()`;
