// Builds the dashboard's page into packages/dashboard/dist/page: files with hashed names, each with its compressed forms beside it.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const dashboard = join(import.meta.dirname, "../packages/dashboard");
const out = join(dashboard, "dist/page");

/** The most bytes of JavaScript and CSS, compressed with gzip. */
const MOST_BYTES = 60 * 1_024;

const FIRST_FILE = { name: "index", test: /page.src.main|replay.src.format/ };

/** Builds the page if anything has changed since the last time. Throws if it has become too large. */
export async function buildPage() {
  if (!isChanged()) return;
  const { build } = await loadVite();
  // With NODE_ENV "test", each element would contain the position of its source.
  const { NODE_ENV } = process.env;
  process.env.NODE_ENV = "production";
  await build({
    configFile: false,
    root: join(dashboard, "page"),
    // Relative URLs only: the page is served under any path.
    base: "./",
    logLevel: "warn",
    // Of the packages, the page takes the sources that it needs.
    resolve: { conditions: ["@headgate/source", "module", "browser"] },
    oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
    build: {
      outDir: out,
      emptyOutDir: true,
      target: "es2022",
      // The policy of the server allows no data: in place of a file.
      assetsInlineLimit: 0,
      modulePreload: false,
      cssCodeSplit: false,
      reportCompressedSize: false,
      // Formats that the view of reports needs, too, are in the first file: one of their own would be loaded after it.
      rolldownOptions: { output: { codeSplitting: { groups: [FIRST_FILE] } } },
    },
  });
  if (NODE_ENV === undefined) delete process.env.NODE_ENV;
  else process.env.NODE_ENV = NODE_ENV;
  compressAll();
}

/** Vite is a dependency of the dashboard only. */
export async function loadVite() {
  const vite = createRequire(join(dashboard, "package.json")).resolve("vite");
  return import(pathToFileURL(vite).href);
}

/** Whether anything is newer than the page. */
function isChanged() {
  const built = statSync(join(out, "index.html.gz"), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const sources = [
    "page/index.html",
    "page/logo.svg",
    "page/public/slash.js",
    ...under("page/src"),
    ...under("page/styles"),
    // The view of reports draws with them.
    ...under("../replay/src"),
  ];
  return ["package.json", ...sources]
    .map((path) => join(dashboard, path))
    .concat(import.meta.filename)
    .some((path) => statSync(path).mtimeMs > built);
}

function under(folder) {
  return readdirSync(join(dashboard, folder), { recursive: true })
    .filter((path) => !path.endsWith(".test.ts"))
    .map((path) => join(folder, path));
}

/** Writes the compressed forms, that of the index last: it shows that the page is whole. Throws if it has become too large. */
function compressAll() {
  const files = readdirSync(out, { recursive: true })
    .filter((path) => /\.(?:js|css|svg|html)$/.test(path))
    .sort((a, b) => Number(a === "index.html") - Number(b === "index.html"));
  let bytes = 0;
  for (const file of files) {
    if (file === "index.html" && bytes > MOST_BYTES) {
      throw new Error(`the page has ${bytes} bytes, at most ${MOST_BYTES}`);
    }
    const plain = readFileSync(join(out, file));
    const gzip = gzipSync(plain, { level: 9 });
    const params = { [constants.BROTLI_PARAM_SIZE_HINT]: plain.length };
    writeFileSync(join(out, `${file}.br`), brotliCompressSync(plain, { params }));
    writeFileSync(join(out, `${file}.gz`), gzip);
    if (/\.(?:js|css)$/.test(file)) bytes += gzip.length;
  }
}
