import { slug } from "github-slugger";
import { defineConfig } from "vitepress";
import { linkToRepository, REPOSITORY } from "./repository.ts";
import { PARTS } from "./sidebar.ts";

export default defineConfig({
  title: "Headgate",
  description: "Rate limiting for Node, exact and shared, on Fastify, Express and Redis",
  lang: "en",
  cleanUrls: true,
  themeConfig: {
    nav: PARTS.map(({ text, items }) => ({
      text: text ?? "",
      link: items?.[0]?.link ?? "/",
    })).filter(({ text }) => ["Start", "How to", "Reference", "Understand"].includes(text)),
    sidebar: [...PARTS],
    outline: [2, 3],
    search: { provider: "local" },
    socialLinks: [{ icon: "git", link: REPOSITORY, ariaLabel: "The repository" }],
  },
  markdown: {
    // The same anchors as in the repository's own view of a page.
    anchor: { slugify: slug },
    config: linkToRepository,
  },
});
