// Writes the bill of materials of each packed package beside it, in CycloneDX's JSON: headgate-core-1.2.3.tgz gets
// headgate-core-1.2.3.cdx.json. It lists what an installation of that package brings, without peers, and what is compiled into it.
//
//   node scripts/sbom.mjs FOLDER
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** Packages whose code is in the files of another. */
const COMPILED_IN = { "@headgate/dashboard": ["@headgate/replay", "preact"] };

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("usage: node scripts/sbom.mjs FOLDER_OF_TARBALLS");

const packed = readdirSync(folder)
  .filter((file) => file.endsWith(".tgz"))
  .map((file) => {
    const tarball = resolve(folder, file);
    const args = ["-xzOf", tarball, "package/package.json"];
    return { tarball, manifest: JSON.parse(execFileSync("tar", args, { encoding: "utf8" })) };
  });
if (packed.length === 0) throw new Error(`${folder} has no tarballs`);

/** Our packages, so that each is described with the others of this release, whatever is on npm. */
const ours = new Map(packed.map(({ tarball, manifest }) => [manifest.name, `file:${tarball}`]));

for (const { tarball, manifest } of packed) {
  writeFileSync(tarball.replace(/\.tgz$/, ".cdx.json"), describe(manifest));
}

/** Resolves a package's dependencies as npm does for a user, and lets npm describe them. */
function describe({ name, version, license, description, dependencies = {} }) {
  const compiledIn = (COMPILED_IN[name] ?? []).map((other) => [other, installed(name, other)]);
  const dir = mkdtempSync(join(tmpdir(), "headgate-sbom-"));
  try {
    const pinned = Object.fromEntries(
      [...Object.entries(dependencies), ...compiledIn].map(([other, range]) => [
        other,
        ours.get(other) ?? range,
      ]),
    );
    const others = [...ours].filter(([other]) => other !== name && !(other in pinned));
    const root = { name, version, license, description, dependencies: pinned };
    writeFileSync(
      join(dir, "package.json"),
      JSON.stringify({ ...root, overrides: Object.fromEntries(others) }),
    );
    const npm = (...args) => execFileSync("npm", args, { cwd: dir, encoding: "utf8" });
    npm("install", "--package-lock-only", "--omit=dev", "--omit=peer", "--no-audit", "--no-fund");
    const sbom = npm(
      "sbom",
      "--package-lock-only",
      "--omit=dev",
      "--omit=peer",
      "--sbom-format=cyclonedx",
      "--sbom-type=library",
    );
    return format(sbom, name);
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** The version of a dependency in the workspace. */
function installed(name, dependency) {
  const folder = join(import.meta.dirname, "../packages", name.replace("@headgate/", ""));
  const file = join(folder, "node_modules", dependency, "package.json");
  return JSON.parse(readFileSync(file, "utf8")).version;
}

/** Names the package, which npm calls by its folder, and leaves out where this machine had the tarballs. */
function format(sbom, name) {
  const bom = JSON.parse(sbom);
  bom.metadata.component.name = name;
  for (const component of bom.components) {
    const references = component.externalReferences ?? [];
    component.externalReferences = references.filter(({ url }) => !url.startsWith("file:"));
  }
  return `${JSON.stringify(bom, null, 2)}\n`;
}
