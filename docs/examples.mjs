// Writes docs/examples/: a page for each program that a page links, with all of its code. It is made for each build, as the API's are.
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const DOCS = import.meta.dirname;
const EXAMPLES = join(DOCS, "../examples");
const PAGES = join(DOCS, "examples");

/** The languages of the files that are shown, by their ends. */
const LANGUAGES = { ts: "ts", mjs: "js", conf: "nginx" };

/** The names of the programs that the pages link. */
function linkedPrograms() {
  const pages = readdirSync(DOCS, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".md") && !/node_modules|\.vitepress|^examples/.test(file))
    .map((file) => readFileSync(join(DOCS, file), "utf8"));
  const links = pages.flatMap((text) => [...text.matchAll(/\]\(\.\.\/\.\.\/examples\/([\w-]+)/g)]);
  return [...new Set(links.map(([, name = ""]) => name))].sort();
}

/**
 * A file of a program, under a heading of its name.
 * @param {string} program
 * @param {string} file
 */
function sectionOf(program, file) {
  const text = readFileSync(join(EXAMPLES, program, file), "utf8");
  const language = LANGUAGES[/** @type {keyof typeof LANGUAGES} */ (file.split(".").at(-1))];
  const code = text.replaceAll(/^ *\/\/ #(?:end)?region.*\n/gm, "");
  return `## ${file}\n\n\`\`\`${language}\n${code}\`\`\`\n`;
}

/** @param {string} program */
function pageOf(program) {
  const listed = execFileSync("git", ["ls-files"], { cwd: join(EXAMPLES, program) });
  const files = listed.toString().trim().split("\n");
  const shown = files.filter(
    (file) => (file.split(".").at(-1) ?? "") in LANGUAGES && !file.includes(".test."),
  );
  const title = `Program: ${program.replaceAll("-", " ")}`;
  const intro = `All code of \`examples/${program}\`, as it is in the repository.`;
  return [`# ${title}\n`, `${intro}\n`, ...shown.map((file) => sectionOf(program, file))].join(
    "\n",
  );
}

rmSync(PAGES, { recursive: true, force: true });
mkdirSync(PAGES);
for (const program of linkedPrograms()) {
  writeFileSync(join(PAGES, `${program}.md`), pageOf(program));
}
