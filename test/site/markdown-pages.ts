import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { REPOSITORY } from "../../docs/.vitepress/repository.ts";
import { ROOT } from "../docs/markdown.ts";
import { DIST } from "./build-site.ts";

const read = (path: string) => readFileSync(join(DIST, path), "utf8");

const FENCED = /^```[\s\S]*?^```$/gm;

/** Tests `llms.txt` and the pages as Markdown. `links` are the pages of the sidebars. */
export function testMarkdownPages(links: () => readonly string[]): void {
  const listed = () =>
    [...read("llms.txt").matchAll(/^- \[(.+?)\]\(\/(\S+)\): (.+)$/gm)].map(
      ([, title = "", path = "", summary = ""]) => ({ title, path, summary }),
    );

  test("llms.txt lists every page once, in the order of the sidebars, with a summary", () => {
    const pages = listed();
    expect(pages.map(({ path }) => `/${path.replace(/(index)?\.md$/, "")}`)).toEqual(links());
    for (const { path, title, summary } of pages) {
      expect(read(path), path).toContain(`# ${title}\n`);
      expect(summary, path).toMatch(/^[A-Z`@\d].*[.!?]$/);
      expect(summary, path).not.toMatch(/\]\(|:::|^\|/);
    }
  });

  test("a page has the same content as Markdown, and its links lead to files of the site", () => {
    for (const path of ["index.md", "playground.md", ...listed().map((one) => one.path)]) {
      const text = read(path);
      const source = readFileSync(join(ROOT, "docs", path), "utf8");
      expect(text.match(FENCED), path).toEqual(source.match(FENCED));
      const prose = text.replace(FENCED, "");
      expect(prose, path).not.toMatch(/<script|<!--|^---$|\]\(\.\.?\//m);
      for (const [, target = ""] of prose.matchAll(/\]\(\/([^)#]*)/g)) {
        const file = target === "" || target.endsWith("/") ? `${target}index.html` : target;
        expect(existsSync(join(DIST, file)), `${path} links to ${target}`).toBe(true);
      }
      if (REPOSITORY === undefined) expect(prose, path).not.toContain("blob/main");

      const html = read(path.replace(/\.md$/, ".html"));
      expect(html).toContain(`<link rel="alternate" type="text/markdown" href="/${path}">`);
      const ids = [...prose.matchAll(/^## (.+)$/gm)].length;
      expect(html.match(/<h2 id=/g)?.length ?? 0, path).toBe(ids);
    }
  });

  test("llms-full.txt has the text of every page but those of the API and of programs", () => {
    const full = read("llms-full.txt");
    const paths = listed().map(({ path }) => path);
    for (const path of paths) {
      expect(full.includes(read(path)), path).toBe(!/^(?:reference\/api|examples)\//.test(path));
    }
    expect(read("llms.txt")).toContain("](/llms-full.txt)");
  });
}
