// Writes docs/reference/api/ from the docstrings of the sources: a page for each public entry of a package, and a list of them.
// TypeDoc runs on this package's TypeScript, 6.0: it does not work with 7 yet.
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import {
  Application,
  Comment,
  Converter,
  DeclarationReflection,
  PageEvent,
  ParameterReflection,
  ReferenceType,
  ReflectionKind,
  UnionType,
} from "typedoc";

const PACKAGES = join(import.meta.dirname, "../packages");
const PAGES = join(import.meta.dirname, "reference/api");

/** The sources of the entries that anyone may import. */
function publicEntries() {
  return readdirSync(PACKAGES).flatMap((dir) => {
    const { exports } = JSON.parse(readFileSync(join(PACKAGES, dir, "package.json"), "utf8"));
    return Object.entries(exports)
      .filter(([path]) => !path.startsWith("./internal"))
      .flatMap(([, { "@headgate/source": source }]) => source ?? [])
      .map((source) => join(PACKAGES, dir, source));
  });
}

/**
 * Names that an entry marks `@internal`: they are for our own packages, and change with them.
 * @param {string} source
 */
function internalNames(source) {
  const marked = readFileSync(source, "utf8").matchAll(
    /\/\*\* @internal \*\/\nexport (?:type )?\{([^}]+)\}/g,
  );
  return [...marked].flatMap(([, names = ""]) => names.split(",").map((name) => name.trim()));
}

/**
 * `core/src/http`, as TypeDoc calls it, is the page `core-http`.
 * @param {string} path
 */
const pageOf = (path) => path.replace("/src", "").replace("/", "-");

/**
 * The page `core-http` is about `@headgate/core/http`.
 * @param {string} page
 */
const entryOf = (page) => `@headgate/${page.replace("-", "/")}`;

/** @param {import("typedoc").ProjectReflection} project */
const entriesOf = (project) => project.getChildrenByKind(ReflectionKind.Module);

/**
 * What an entry takes over from another is one sentence of links, in place of a heading for each.
 * @param {DeclarationReflection} entry
 */
function joinReexports(entry) {
  const reexports = (entry.children ?? []).filter((one) => one.isReference());
  if (reexports.length === 0) return;
  const { summary } = entry.comment ?? new Comment();
  reexports.forEach((one, i) => {
    summary.push({ kind: "text", text: i === 0 ? "\n\nIt also exports " : ", " });
    const target = one.getTargetReflectionDeep();
    summary.push({ kind: "inline-tag", tag: "@link", text: one.name, target });
  });
  summary.push({ kind: "text", text: "." });
  for (const one of reexports) entry.project.removeReflection(one);
}

/**
 * What a type extends is said once; a section in each member would only repeat it.
 * @param {import("typedoc").ProjectReflection} project
 */
function forgetOrigins(project) {
  for (const one of Object.values(project.reflections)) {
    if (!one.isDeclaration() && !one.isSignature()) continue;
    Reflect.deleteProperty(one, "inheritedFrom");
    Reflect.deleteProperty(one, "overwrites");
    Reflect.deleteProperty(one, "implementationOf");
  }
}

/**
 * TypeScript forgets the name of the type of all codes, and writes forty of them.
 * @param {import("typedoc").ProjectReflection} project
 */
function nameErrorCodes(project) {
  const codes = project.getChildByName(["core", "HeadgateErrorCode"]);
  if (codes === undefined) throw new Error("@headgate/core exports no HeadgateErrorCode");
  for (const one of Object.values(project.reflections)) {
    if (!(one instanceof DeclarationReflection || one instanceof ParameterReflection)) continue;
    if (one.type instanceof UnionType && String(one.type).includes('"HEADGATE_INVALID_LIMIT"'))
      one.type = ReferenceType.createResolvedReference(codes.name, codes, project);
  }
}

/** @param {readonly DeclarationReflection[]} entries */
function formatList(entries) {
  const lines = entries.map(({ name, comment }) => {
    const [summary] = Comment.combineDisplayParts(comment?.summary).split("\n\n");
    return `- [\`${entryOf(name)}\`](${name}.md): ${summary}`;
  });
  return `# API\n\nEvery export of every package, as the sources describe it.\n\n${lines.join("\n")}\n`;
}

const sources = publicEntries();
/** @type {Partial<import("typedoc").TypeDocOptions> & Partial<import("typedoc-plugin-markdown").PluginOptions>} */
const options = {
  plugin: ["typedoc-plugin-markdown"],
  entryPoints: sources,
  tsconfig: join(import.meta.dirname, "tsconfig.api.json"),
  // `pnpm types` checks the sources.
  skipErrorChecking: true,
  excludeExternals: true,
  disableSources: true,
  readme: "none",
  groupOrder: ["Functions", "Classes", "Interfaces", "*"],
  out: PAGES,
  router: "module",
  entryFileName: "index",
  hideBreadcrumbs: true,
  hidePageHeader: true,
  hideGroupHeadings: true,
  useCodeBlocks: true,
  // TypeDoc numbers anchors in another way than the site: the exports, which are what is linked to, say theirs.
  useCustomAnchors: true,
  anchorPrefix: "export-",
  expandParameters: true,
  parametersFormat: "table",
  pageTitleTemplates: { module: ({ name }) => entryOf(name) },
  logLevel: "Warn",
};
const app = await Application.bootstrapWithPlugins(options);

const internal = new Set(sources.flatMap(internalNames));
app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
  for (const entry of entriesOf(project)) {
    entry.name = pageOf(entry.name);
    for (const one of [...(entry.children ?? [])])
      if (internal.has(one.name)) project.removeReflection(one);
    joinReexports(entry);
  }
});
app.renderer.on(PageEvent.END, (page) => {
  page.contents = (page.contents ?? "").replace(/^(###.*) \{#.*\}$/gm, "$1");
  if (page.model === project) page.contents = formatList(entriesOf(project));
});

rmSync(PAGES, { recursive: true, force: true });
const project = await app.convert();
if (project === undefined) process.exit(1);
forgetOrigins(project);
nameErrorCodes(project);
app.validate(project);
await app.generateOutputs(project);
if (app.logger.hasErrors() || app.logger.hasWarnings()) process.exit(1);
