import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

export const ROOT: string = join(import.meta.dirname, "../..");

/** A fenced code block of a page. */
export interface Block {
  readonly language: string;
  readonly text: string;
  /** The file and the line on which its text begins, such as `README.md:52`. */
  readonly location: string;
}

/** A table of a page: the Markdown of its header cells, and of the cells of each row. */
export interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** A page of the documentation. */
export interface Page {
  /** Relative to the repository. */
  readonly path: string;
  readonly text: string;
  readonly blocks: readonly Block[];
}

export const PAGES: readonly Page[] = [
  "README.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "docs/index.md",
  "docs/playground.md",
  ...["start", "how-to", "recipes", "moving", "reference", "understand"].flatMap(pagesIn),
  ...namesIn("packages").map((name) => `packages/${name}/README.md`),
  // Pages for contributors, in the folders of the code.
  "packages/core/src/control/CONTROL.md",
  "packages/core/src/scripts/SCRIPTS.md",
  "test/bench/FIGURES.md",
  "test/faults/OUTAGES.md",
].map(readPage);

function namesIn(dir: string): string[] {
  return readdirSync(join(ROOT, dir)).sort();
}

function pagesIn(part: string): string[] {
  return namesIn(`docs/${part}`)
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${part}/${name}`);
}

export function page(path: string): Page {
  const found = PAGES.find((one) => one.path === path);
  if (found === undefined) throw new Error(`there is no page ${path}`);
  return found;
}

function readPage(path: string): Page {
  const text = readFileSync(join(ROOT, path), "utf8");
  const blocks = [...text.matchAll(/^```(\w*)(?: \[[^\]\n]+\])?\n([\s\S]*?)^```$/gm)].map(
    (match) => ({
      language: match[1] as string,
      text: match[2] as string,
      location: `${path}:${text.slice(0, match.index).split("\n").length + 1}`,
    }),
  );
  return { path, text, blocks };
}

/** A block that shows a file of the repository, or one region of it: a comment before the block names `PATH` or `PATH#REGION`. */
const SHOWN_FILE = /^(<!-- file: (\S+) -->\n+```.*\n)([\s\S]*?)^```$/gm;

/** Returns a whole file, or the lines between `// #region NAME` and `// #endregion` without their indentation. */
function readShownFile(name: string): string {
  const [path = "", region] = name.split("#");
  const text = readFileSync(join(ROOT, path), "utf8");
  if (region === undefined) return text.replaceAll(/^ *\/\/ #(?:end)?region.*\n/gm, "");
  const marks = new RegExp(`^( *)// #region ${region}\\n([\\s\\S]*?)^ *// #endregion$`, "m");
  const [, indent = "", lines] = marks.exec(text) ?? [];
  if (lines === undefined) throw new Error(`${path} has no region ${region}`);
  return lines.replaceAll(new RegExp(`^${indent}`, "gm"), "");
}

/** Returns the texts that a page includes from files of the repository. */
export function shownFiles({ text }: Page): string[] {
  return [...text.matchAll(SHOWN_FILE)].map(([, , , shown = ""]) => shown);
}

/** Returns a page's text with the current contents of the included files. */
export function withFiles({ text }: Page): string {
  return text.replace(
    SHOWN_FILE,
    (_, start: string, name: string) => `${start}${readShownFile(name)}\`\`\``,
  );
}

export function blocksOf(pages: readonly Page[], ...languages: readonly string[]): Block[] {
  return pages.flatMap(({ blocks }) =>
    blocks.filter(({ language }) => languages.includes(language)),
  );
}

/** Returns the tables of a text, in order. */
export function tablesOf(text: string): Table[] {
  return [...text.matchAll(/^(?:\|.*\|\n)+/gm)].map(([table]) => {
    const [head = [], , ...rows] = table.trimEnd().split("\n").map(cellsOf);
    return { head, rows };
  });
}

function cellsOf(row: string): string[] {
  return row
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim());
}

/** Returns the texts in backticks. */
export function codeIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map((match) => match[1] as string);
}

/** Returns the part of a page under a heading, up to the next heading of the same level. */
export function section({ path, text }: Page, heading: string): string {
  const [, rest] = text.split(`\n## ${heading}\n`);
  if (rest === undefined) throw new Error(`${path} has no section "${heading}"`);
  return rest.split("\n## ")[0] as string;
}

/** Returns the anchors of a page's headings, as GitHub generates them. */
export function anchorsOf({ text }: Page): string[] {
  const prose = text.replace(/^```[\s\S]*?^```$/gm, "");
  return [...prose.matchAll(/^#+ (.+)$/gm)].map((match) =>
    (match[1] as string)
      .toLowerCase()
      .replace(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
}

/** Returns the link targets of a page: repository paths with their anchors, without external links. */
export function linksOf({ path, text }: Page): { target: string; anchor: string }[] {
  const prose = text.replace(/^```[\s\S]*?^```$/gm, "");
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map((match) => match[1] as string)
    .filter((link) => !/^https?:/.test(link))
    .map((link) => {
      const [file = "", anchor = ""] = link.split("#");
      const target = file === "" ? path : relative(ROOT, join(ROOT, dirname(path), file));
      return { target, anchor };
    });
}
