// Builds every package, and then the projects named as arguments. The command and the projects are ES modules, written by tsc. Each
// other package is one CommonJS copy, and for each entry an ES module that exports the same objects.
// Nothing goes to stdout: it belongs to what runs next.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { buildPage } from "./build-page.mjs";

const root = join(import.meta.dirname, "..");
const tsc = join(root, "node_modules/typescript/bin/tsc");

/** The packages that are bundled. */
const LIBRARIES = [
  "core",
  "express",
  "fastify",
  "hono",
  "nestjs",
  "breaker",
  "fetch",
  "shed",
  "telemetry",
  "replay",
  "dashboard",
];

/**
 * Where a package has its default export by name. Bundlers disagree about the default of a CommonJS module, so the ES module imports
 * it by this name.
 */
const DEFAULT_EXPORTS = { fastify: { entry: "plugin", name: "headgate" } };

/**
 * What shares a file, by a pattern for a module that goes there with all that it imports. Every application loads the index of core:
 * in one file it loads faster than in six, and what http and admin share goes there, too, rather than into one more. The bundler
 * puts its runtime into any file otherwise, which all the rest then need.
 */
const GROUPS = [
  { name: "rolldown-runtime", test: /rolldown.runtime/, priority: 2 },
  {
    name: "limiter",
    test: /core.src.(?:index|store.with-timeout|http.subject)\.ts$/,
    priority: 1,
  },
  { name: "network", test: /core.src.(?:net.network|control.record)\.ts$/ },
];

/** Marks of where each module of a bundle begins and ends: a sixtieth of its size, of no use to those who install it. */
const REGIONS = /^\/\/#(?:end)?region\b.*\n/gm;

/** An export by a getter, as the bundler writes them all. */
const GETTERS =
  /^Object\.defineProperty\(exports, (["'])([\w$]+)\1, \{\s*enumerable: true,\s*get: function ?\(\) \{\s*return ([\w$]+);\s*\}\s*\}\);$/gm;

/** A name whose value may change. */
const CHANGING = /^(?:let|var) ([\w$]+)/gm;

/** Exports what never changes by value, which is shorter and loads faster. They stand behind all definitions. */
function exportByValue(code) {
  const changing = new Set(Array.from(code.matchAll(CHANGING), ([, name]) => name));
  return code.replace(GETTERS, (getter, _, name, own) =>
    changing.has(own) ? getter : `exports.${name} = ${own};`,
  );
}

const lighter = {
  name: "lighter",
  renderChunk: (code) => exportByValue(code.replace(REGIONS, "")),
};

/** Builds what has changed since the last time. Resolves with false if there are errors. */
export async function build(...projects) {
  const paths = ["packages/cli", ...projects].map((path) => join(root, path));
  const compiler = spawn(process.execPath, [tsc, "-b", ...paths], { stdio: ["ignore", 2, 2] });
  const [[status], areBundled] = await Promise.all([once(compiler, "exit"), bundleChanged()]);
  return status === 0 && areBundled;
}

async function bundleChanged() {
  try {
    for (const name of LIBRARIES.filter(isChanged)) await bundlePackage(name);
    await buildPage();
    return true;
  } catch (error) {
    console.error(error);
    return false;
  }
}

/** Whether anything is newer than the module that is written last. */
function isChanged(name) {
  const dir = join(root, "packages", name);
  const built = statSync(join(dir, "dist/index.js"), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const sources = readdirSync(join(dir, "src"), { recursive: true })
    .filter((path) => !path.endsWith(".test.ts"))
    .map((path) => join("src", path));
  return ["package.json", "src", ...sources]
    .map((path) => join(dir, path))
    .concat(import.meta.filename)
    .some((path) => statSync(path).mtimeMs > built);
}

async function bundlePackage(name) {
  const { build: bundle } = await import("tsdown");
  const dir = join(root, "packages", name);
  const entries = entriesOf(dir);
  const byName = DEFAULT_EXPORTS[name];
  const [{ chunks }] = await bundle({
    config: false,
    cwd: dir,
    entry: byName ? { ...entries, [byName.entry]: `src/${byName.entry}.ts` } : entries,
    format: "cjs",
    target: "node20.19",
    fixedExtension: true,
    hash: false,
    // What is marked as internal is for our own packages, which read its types from the sources.
    dts: { oxc: { stripInternal: true }, sourcemap: false },
    report: false,
    logLevel: "warn",
    plugins: [lighter],
    checks: { legacyCjs: false, pluginTimings: false, mixedExports: false },
    outputOptions: {
      comments: false,
      chunkFileNames: "shared/[name].cjs",
      codeSplitting: { groups: GROUPS },
    },
  });
  lightenTypes(join(dir, "dist"));
  const exportsOf = Object.fromEntries(chunks.map(({ fileName, exports }) => [fileName, exports]));
  // The one that shows whether the rest is up to date comes last.
  for (const entry of Object.keys(entries).reverse()) {
    writeDoor(join(dir, "dist", entry), exportsOf[`${entry}.cjs`], byName);
  }
}

/** Removes the marks from the types, which plugins of the bundler do not see. */
function lightenTypes(dist) {
  for (const file of readdirSync(dist, { recursive: true })) {
    if (!file.endsWith(".d.cts")) continue;
    const path = join(dist, file);
    writeFileSync(path, readFileSync(path, "utf8").replace(REGIONS, ""));
  }
}

/** The sources of a package's entries by their names: `redis` for `./src/redis/index.ts`. */
function entriesOf(dir) {
  const { exports } = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
  return Object.fromEntries(
    Object.entries(exports)
      .filter(([, { "@headgate/source": source }]) => source !== undefined)
      .map(([path, { "@headgate/source": source }]) => [path.slice(2) || "index", source]),
  );
}

/** Writes the ES module of an entry, and its types. */
function writeDoor(path, exports, byName) {
  const from = `"./${basename(path)}.cjs"`;
  const names = exports.filter((name) => name !== "default").join(", ");
  const ofDefault = exports.includes("default")
    ? `export { ${byName.name} as default } from "./${byName.entry}.cjs";\n`
    : "";
  writeFileSync(`${path}.d.ts`, `export * from ${from};\n${ofDefault}`);
  writeFileSync(`${path}.js`, `export { ${names} } from ${from};\n${ofDefault}`);
}

if (process.argv[1] === import.meta.filename && !(await build(...process.argv.slice(2)))) {
  process.exit(1);
}
