import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import type { SiteConfig } from "vitepress";
import { REPOSITORY, targetInRepository } from "./repository.ts";
import type { Part } from "./sidebar.ts";
import { linksOf } from "./sidebar.ts";

/** A page for programs that read Markdown. */
interface MarkdownPage {
  /** `how-to/keys.md`: where its source is in the documentation, and where it is on the site. */
  readonly path: string;
  readonly title: string;
  /** The first sentence of its text. */
  readonly summary: string;
  readonly text: string;
}

const HOME = "index.md";

/** Splits a page into prose and blocks of code. */
const FENCED = /^(```[\s\S]*?^```$)/m;

/**
 * Writes every page as Markdown beside its HTML, with links that hold on the site; `llms.txt`, which lists them; and `llms-full.txt`,
 * which has the text of all but the API's and the programs'.
 */
export function writeMarkdownPages({ srcDir, outDir, site }: SiteConfig, parts: readonly Part[]) {
  const read = (path: string) => readMarkdown(srcDir, path, site.base);
  const home = read(HOME);
  const sections = parts.map((part) => ({
    title: part.text,
    pages: linksOf(part).map((link) => read(pathOf(link))),
  }));
  const pages = [home, read("playground.md"), ...sections.flatMap((section) => section.pages)];
  for (const { path, text } of pages) write(join(outDir, path), text);

  const list = sections.map(({ title, pages: own }) => {
    const lines = own.map((page) => `- [${page.title}](${site.base}${page.path}): ${page.summary}`);
    return `## ${title}\n\n${lines.join("\n")}\n`;
  });
  const head = `# ${site.title}\n\n> ${site.description}\n\n`;
  const full = `[All pages but the API's in one file](${site.base}llms-full.txt).\n\n`;
  write(join(outDir, "llms.txt"), head + full + list.join("\n"));
  const texts = pages.filter(({ path }) => !/^(?:reference\/api|examples)\//.test(path));
  write(join(outDir, "llms-full.txt"), head + texts.map(({ text }) => text).join("\n"));
}

/** Where a page of the sidebar has its source: `/start/` is `start/index.md`. */
function pathOf(link: string): string {
  return `${link.slice(1).replace(/(^|\/)$/, "$1index")}.md`;
}

function readMarkdown(srcDir: string, path: string, base: string): MarkdownPage {
  const source = readFileSync(join(srcDir, path), "utf8");
  const text = source
    .replace(/^---\n[\s\S]*?\n---\n/, "")
    .split(FENCED)
    .map((part) => (part.startsWith("```") ? part : withSiteLinks(withoutMarkup(part), path, base)))
    .join("")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
  const [, title = ""] = /^# (.+)$/m.exec(text) ?? [];
  return { path, title, summary: summarize(text), text: `${text}\n` };
}

/** Markdown without the components, comments and anchors that only the site's HTML needs. */
function withoutMarkup(text: string): string {
  return text
    .replace(/<script setup>[\s\S]*?<\/script>/g, "")
    .replace(/<!--[\s\S]*?-->\n?/g, "")
    .replace(/^<\/?[A-Za-z][^>]*>$/gm, "")
    .replace(/ \{#[\w-]+\}$/gm, "");
}

/** Links to pages lead to their Markdown; a picture is its description; without a repository, a link to it is its text. */
function withSiteLinks(text: string, path: string, base: string): string {
  return text.replace(
    /(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g,
    (link, picture, label, href) => {
      if (picture !== "") return `(Picture: ${label})`;
      if (/^(?:[a-z]+:|#|\/)/.test(href)) return link;
      const [file = "", anchor] = href.split("#");
      const target = posix.join("docs", dirname(path), file);
      const outside = targetInRepository(target);
      if (outside === undefined) {
        const page = posix.join(base, target.slice("docs/".length));
        return `[${label}](${anchor === undefined ? page : `${page}#${anchor}`})`;
      }
      if (outside.startsWith("/")) return `[${label}](${posix.join(base, outside)})`;
      return REPOSITORY === undefined ? label : `[${label}](${REPOSITORY}/blob/main/${outside})`;
    },
  );
}

/** The first sentence of the first paragraph, without links. */
function summarize(text: string): string {
  const [, paragraph = ""] = /^# .+\n+([\s\S]*?)(?:\n\n|$(?![\s\S]))/m.exec(text) ?? [];
  const line = paragraph.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll("\n", " ");
  return /^.*?[.:](?= |$)/.exec(line)?.[0].replace(/:$/, ".") ?? line;
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
