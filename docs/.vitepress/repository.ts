import { readFileSync } from "node:fs";
import { dirname, extname, join, posix, relative } from "node:path";
import type { MarkdownRenderer } from "vitepress";

const ROOT = join(import.meta.dirname, "../..");

const { repository } = JSON.parse(readFileSync(join(ROOT, "packages/core/package.json"), "utf8"));

/** Where the sources are, for a browser. */
export const REPOSITORY: string = repository.url.replace(/^git\+|\.git$/g, "");

/** Makes links to what the site has no page of, such as a package, an example or a picture, links of the repository. */
export function linkToRepository(markdown: MarkdownRenderer): void {
  const { rules } = markdown.renderer;
  const renderLink = rules["link_open"];
  if (renderLink === undefined) throw new Error("VitePress renders no links");
  rules["link_open"] = (tokens, at, options, env, self) => {
    const token = tokens[at];
    const href = token?.attrGet("href");
    const file = relative(ROOT, env.path);
    if (href?.startsWith("../")) {
      const target = posix.join(dirname(file), href);
      if (!isPage(target)) token?.attrSet("href", `${REPOSITORY}/blob/main/${target}`);
    }
    return renderLink(tokens, at, options, env, self);
  };
}

/** Whether a link to a path of the repository, with its anchor, is one to a page of the site. */
function isPage(target: string): boolean {
  const [path = ""] = target.split("#");
  return path.startsWith("docs/") && ["", ".md"].includes(extname(path));
}
