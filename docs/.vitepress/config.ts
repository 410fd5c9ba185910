import { slug } from "github-slugger";
import { defineConfig } from "vitepress";
import { writeMarkdownPages } from "./markdown-pages.ts";
import { runInBrowser } from "./playground/run-in-browser.ts";
import { linkToRepository, REPOSITORY } from "./repository.ts";
import { search } from "./search.ts";
import { linksOf, readParts } from "./sidebar.ts";
import { boxTables } from "./tables.ts";

const parts = readParts();

export default defineConfig({
  title: "Headgate",
  description:
    "Rate limiting for Node, shared through Redis, with a proven bound for each algorithm",
  lang: "en",
  cleanUrls: true,
  head: [["link", { rel: "icon", href: "/logo.svg", type: "image/svg+xml" }]],
  themeConfig: {
    logo: { src: "/logo.svg", alt: "" },
    nav: [
      ...parts.map((part) => ({
        text: part.text,
        link: linksOf(part)[0] ?? "/",
        activeMatch: `^(${part.under.join("|")})`,
      })),
      { text: "Playground", link: "/playground" },
    ],
    sidebar: Object.fromEntries(
      parts.flatMap(({ text, under, items }) => under.map((path) => [path, [{ text, items }]])),
    ),
    outline: [2, 3],
    search,
    ...(REPOSITORY === undefined
      ? {}
      : {
          editLink: { pattern: `${REPOSITORY}/edit/main/docs/:path`, text: "Edit this page" },
          socialLinks: [{ icon: "git", link: REPOSITORY, ariaLabel: "The repository" }],
        }),
  },
  markdown: {
    // The same anchors as in the repository's own view of a page.
    anchor: { slugify: slug },
    config: (markdown) => {
      linkToRepository(markdown);
      boxTables(markdown);
    },
    // The comments of VitePress's own colours are too pale to be read.
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    // The highlighter does not know PromQL; SQL has most of its words.
    languageAlias: { promql: "sql" },
  },
  vite: {
    // The index of the search is one file, fetched with the first search.
    build: { chunkSizeWarningLimit: 3_000 },
    resolve: { conditions: ["@headgate/source"] },
    plugins: [runInBrowser],
  },
  transformHead: ({ pageData: { relativePath }, siteData: { base } }) =>
    relativePath.endsWith(".md")
      ? [["link", { rel: "alternate", type: "text/markdown", href: base + relativePath }]]
      : [],
  buildEnd: (site) => writeMarkdownPages(site, parts),
  transformPageData({ relativePath }) {
    if (!/^(?:reference\/api|examples)\//.test(relativePath)) return;
    // Written from the sources: there is no page to edit, and its third level is every member of every type.
    return { frontmatter: { editLink: false, outline: 2 } };
  },
});
