import { readFileSync } from "node:fs";
import { dirname, extname, join, posix, relative } from "node:path";
import { slug } from "github-slugger";
import type { MarkdownRenderer } from "vitepress";

const ROOT = join(import.meta.dirname, "../..");

const { repository } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));

/** Where the sources are, for a browser: the `repository.url` of the workspace. Undefined while there is no public repository. */
export const REPOSITORY: string | undefined = repository?.url.replace(/^git\+|\.git$/g, "");

/** What writes the recorded dashboard: the repository shows the script, and the site the dashboard. */
const DEMO = { script: "scripts/build-demo.mjs", path: "/demo/" };

/**
 * Makes links to what the site has no page of, such as a package or a picture, links of the repository; without a repository, plain
 * text. A link to an example becomes one to the page of its code, and a link to the demo's script one to the demo.
 */
export function linkToRepository(markdown: MarkdownRenderer): void {
  const { rules } = markdown.renderer;
  const renderLink = rules["link_open"];
  if (renderLink === undefined) throw new Error("VitePress renders no links");
  rules["link_open"] = (tokens, at, options, env, self) => {
    const token = tokens[at];
    const href = token?.attrGet("href");
    const target = posix.join(dirname(relative(ROOT, env.path)), href ?? "");
    if (target === DEMO.script) {
      token?.attrSet("href", DEMO.path);
      renderLink(tokens, at, options, env, self); // puts the site's base in front
      // VitePress would look for a page of its own there; with a target, it leaves the link to the browser.
      token?.attrSet("target", "_self");
      return self.renderToken(tokens, at, options);
    }
    if (!href?.startsWith("../") || isPage(target)) {
      return renderLink(tokens, at, options, env, self);
    }
    const program = programOf(target);
    if (program !== undefined) {
      token?.attrSet("href", program);
      return renderLink(tokens, at, options, env, self);
    }
    if (REPOSITORY === undefined) {
      // Links are never inside others: the next end is this one's.
      const end = tokens.slice(at).find(({ type }) => type === "link_close");
      if (end !== undefined) end.meta = PLAIN;
      return "";
    }
    token?.attrSet("href", `${REPOSITORY}/blob/main/${target}`);
    return renderLink(tokens, at, options, env, self);
  };
  rules["link_close"] = (tokens, at, options, _, self) =>
    tokens[at]?.meta === PLAIN ? "" : self.renderToken(tokens, at, options);
}

/** Marks the end of a link that is not written. */
const PLAIN = Symbol("plain text");

/**
 * Where a path of the repository is when it is no page of the site: a path of the site, which begins with `/`, or one of the
 * repository. Undefined for a page.
 */
export function targetInRepository(target: string): string | undefined {
  if (target === DEMO.script) return DEMO.path;
  return isPage(target) ? undefined : (programOf(target) ?? target);
}

/** The page that `examples.mjs` writes of a program, at its file if the link names one: `/examples/jobs.md#workerts`. */
function programOf(target: string): string | undefined {
  const [, name, file] = /^examples\/([\w-]+)(?:\/(.+))?$/.exec(target) ?? [];
  if (name === undefined) return undefined;
  const page = `/examples/${name}.md`;
  return file === undefined ? page : `${page}#${slug(file)}`;
}

/** Whether a link to a path of the repository, with its anchor, is one to a page of the site. */
function isPage(target: string): boolean {
  const [path = ""] = target.split("#");
  return path.startsWith("docs/") && ["", ".md"].includes(extname(path));
}
