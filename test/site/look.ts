import type { Browser, BrowserContextOptions, Page } from "playwright-core";

/** What is true of a page as the browser shows it. */
export interface Look {
  /** Its links, as they are resolved. */
  readonly links: readonly string[];
  readonly ids: readonly string[];
  /** Sources of images that are not shown. */
  readonly missingImages: readonly string[];
  /** Elements that end right of the screen, and scroll inside none that does not. */
  readonly tooWide: readonly string[];
}

/** A page of the browser that shows one page of the site after another. */
export interface Tab {
  readonly page: Page;
  /** What went wrong since it was asked the last time: messages of the console, errors, answers, and requests to other hosts. */
  complaints(): readonly string[];
}

/** Opens a tab on the site at `origin`, with a cache of its own. */
export async function openTab(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions,
): Promise<Tab> {
  const page = await browser.newPage({ ...options, reducedMotion: "reduce" });
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()))
      complaints.push(`${page.url()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`${page.url()}: ${error}`));
  page.on("request", (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(`${origin}/`))
      complaints.push(`${page.url()} asks ${request.url()}`);
  });
  page.on("requestfailed", (request) => {
    // What a page was still fetching ahead when it was left.
    if (request.failure()?.errorText === "net::ERR_ABORTED") return;
    complaints.push(`${request.url()} failed`);
  });
  page.on("response", (response) => {
    if (response.status() >= 400) complaints.push(`${response.url()}: ${response.status()}`);
  });
  return { page, complaints: () => complaints.splice(0) };
}

export async function lookAt(page: Page): Promise<Look> {
  return (await page.evaluate(LOOK)) as Look;
}

/** Code and tables of a page that are wider than their column, and have no scroll bar of their own. */
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
