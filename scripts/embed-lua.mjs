// Writes the versions of core and of the command where their sources can read them. Turns the Lua of a package into lua.generated.ts beside it: whole scripts with all that they include, and the parts from which
// the scripts of shapes are put together when needed. Writes what the page of the doctor says of each check where the command can print it. With --check, fails if a committed file is stale instead of writing it.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";

const root = join(import.meta.dirname, "..");

/** Where whole scripts are, and where their type is from there. */
const SCRIPTS = [
  ["packages/core/src/operations", "../algorithms/algorithm.ts"],
  ["packages/core/src/control", "../algorithms/algorithm.ts"],
  ["packages/core/src/registry", "../algorithms/algorithm.ts"],
  ["packages/core/src/usage", "../algorithms/algorithm.ts"],
  ["packages/breaker/src/machine", "@headgate/core/internal"],
];

/** Where parts are; the result goes into the first folder. */
const PARTS = ["packages/core/src/scripts", "packages/core/src/algorithms"];

/** Has the sections with which core's whole scripts begin. They are embedded once; each may contain those after it. */
const SHARED = {
  file: "packages/core/src/operations/call.lua",
  sections: ["calls", "moment", "typed"],
};

/** Has the constants whose names are replaced by their numbers in all parts. */
const CONSTANTS = "packages/core/src/scripts/counter.lua";

const read = (path) => readFileSync(join(root, path), "utf8");
const luaIn = (folder) =>
  readdirSync(join(root, folder))
    .filter((file) => file.endsWith(".lua"))
    .sort()
    .map((file) => join(folder, file));

const CONSTANT = /^local ([A-Z_, ]+) = ([-\d, ]+)(?: *--.*)?\n/gm;

/** Numbers that have names in capitals, which a script would otherwise look up each time. */
function constantsOf(source) {
  const constants = new Map();
  for (const [, names, values] of source.matchAll(CONSTANT)) {
    const numbers = values.trim().split(", ");
    for (const [i, name] of names.split(", ").entries()) {
      if (constants.has(name)) throw new Error(`two constants ${name}`);
      constants.set(name, numbers[i].startsWith("-") ? `(${numbers[i]})` : numbers[i]);
    }
  }
  return constants;
}

/** Without comments, except directives, and with numbers in place of constants. */
function compact(source, shared = new Map()) {
  const constants = new Map([...shared, ...constantsOf(source)]);
  return source
    .replace(/--\[\[[\s\S]*?\]\]\n?/g, "")
    .replace(CONSTANT, "")
    .replace(/[ \t]*(?<!-)--(?!- @).*$/gm, "")
    .replace(/\b[A-Z][A-Z_]*\b/g, (name) => constants.get(name) ?? name)
    .replace(/^\s*\n/gm, "");
}

/** A file, or a section of it, with everything that it includes. */
function expand(path, section) {
  const text = section === undefined ? read(path) : sectionsOf(read(path))[section];
  return text.replace(/^ *--- @include "(.+)"(?: (\w+))?\n/gm, (_, included, part) =>
    expand(join(dirname(path), `${included}.lua`), part),
  );
}

/** A whole script documents what it Returns; a file that is only included does not. */
const isScript = (path) => /^Returns /m.test(read(path));

const toCamelCase = (name) => name.replace(/-(\w)/g, (_, letter) => letter.toUpperCase());

const escapeText = (text) =>
  text.replaceAll("\\", "\\\\").replaceAll("`", "\\`").replaceAll("${", "\\${");

/** Text as a template literal, which is as long as the text and as easy to read. */
const toLiteral = (text) => `\`${escapeText(text)}\``;

const compactScript = (text) => compact(text).replace(/^\s+/gm, "").trim();

/** The text of a script as a template literal that names the shared sections. */
function toScriptLiteral(source, sections = SHARED.sections) {
  let literal = toLiteral(source);
  for (const section of sections) {
    const shared = compactScript(expand(SHARED.file, section));
    literal = literal.replace(escapeText(shared), () => `\${${section}Section}`);
  }
  return literal;
}

function embedSections() {
  const texts = SHARED.sections.map((section, i) => {
    const literal = toScriptLiteral(
      compactScript(expand(SHARED.file, section)),
      SHARED.sections.slice(i + 1),
    );
    return `export const ${section}Section: string = ${literal};\n`;
  });
  return texts.reverse().join("\n");
}

function embedScript(path) {
  const source = compactScript(expand(path));
  const sha1 = createHash("sha1").update(source).digest("hex");
  const literal = path.startsWith("packages/core/") ? toScriptLiteral(source) : toLiteral(source);
  return `export const ${toCamelCase(basename(path, ".lua"))}Lua: LuaSource = {\n  sha1: "${sha1}",\n  source: ${literal},\n};\n`;
}

/** The sections of a part, each by its name. */
function sectionsOf(source) {
  const [, ...sections] = source.split(/^--- @section /m);
  return Object.fromEntries(
    sections.map((section) => {
      const end = section.indexOf("\n");
      return [section.slice(0, end), section.slice(end + 1)];
    }),
  );
}

const toKey = (name) => (/^\w+$/.test(name) ? name : JSON.stringify(name));

function embedParts() {
  const shared = constantsOf(read(CONSTANTS));
  const parts = PARTS.flatMap(luaIn).map((file) => [
    basename(file, ".lua"),
    sectionsOf(compact(read(file), shared)),
  ]);
  const lines = parts.flatMap(([name, sections]) => [
    `  ${toKey(name)}: {`,
    ...Object.entries(sections).map(([part, text]) => `    ${toKey(part)}: ${toLiteral(text)},`),
    "  },",
  ]);
  return `{\n${lines.join("\n")}\n}`;
}

function write(folder, text, file = "lua.generated.ts") {
  const out = join(folder, file);
  const generated = `// Generated by scripts/embed-lua.mjs. Do not edit.\n${text}`;
  if (!process.argv.includes("--check")) writeFileSync(join(root, out), generated);
  else if (read(out) !== generated) {
    console.error(`${out} is stale: run \`pnpm generate\``);
    process.exitCode = 1;
  }
}

for (const [folder, types] of SCRIPTS) {
  const scripts = luaIn(folder).filter(isScript).map(embedScript).join("\n");
  const names = SHARED.sections
    .map((section) => `${section}Section`)
    .filter((name) => scripts.includes(`\${${name}}`));
  const from = relative(folder, dirname(SHARED.file)) || ".";
  const shared =
    names.length === 0 ? "" : `import { ${names.join(", ")} } from "${from}/call.generated.ts";\n`;
  write(folder, `import type { LuaSource } from "${types}";\n${shared}\n${scripts}`);
}
write(dirname(SHARED.file), embedSections(), "call.generated.ts");
write(
  PARTS[0],
  `export const parts: Readonly<Record<string, Readonly<Record<string, string>>>> = ${embedParts()};\n`,
);
for (const folder of ["packages/core", "packages/cli"]) {
  const { version } = JSON.parse(read(`${folder}/package.json`));
  write(
    `${folder}/src`,
    `export const VERSION = ${JSON.stringify(version)};\n`,
    "version.generated.ts",
  );
}

/** A page's sections of the second level as plain text, each by its heading. */
function plainSections(path) {
  const [, ...sections] = read(path).split(/^## /m);
  return sections.map((section) => {
    const end = section.indexOf("\n");
    const text = section
      .slice(end + 1)
      .replace(/<!--.*?-->\n/gs, "")
      .replace(/^```.*\n/gm, "")
      .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .replaceAll("**", "")
      .replaceAll("`", "");
    return [section.slice(0, end), text.trim()];
  });
}

const checks = plainSections("docs/how-to/doctor.md").filter(([name]) => /^[a-z-]+$/.test(name));
write(
  "packages/cli/src/doctor",
  `export const SECTIONS: Readonly<Record<string, string>> = ${JSON.stringify(Object.fromEntries(checks), null, 2)};\n`,
  "sections.generated.ts",
);
