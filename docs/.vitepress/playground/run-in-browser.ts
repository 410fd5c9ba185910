import { join } from "node:path";

const NODE_IN_BROWSER = join(import.meta.dirname, "node-in-browser.ts");

/** A Vite plugin that lets the browser load the sources of `@headgate/core`: it replaces their imports of Node. */
export const runInBrowser = {
  name: "headgate:run-in-browser",
  enforce: "pre",
  resolveId: (id: string, _importer: string | undefined, options: { readonly ssr?: boolean }) =>
    id.startsWith("node:") && !options.ssr ? NODE_IN_BROWSER : undefined,
} as const;
