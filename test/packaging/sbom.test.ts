import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { ROOT } from "../docs/markdown.ts";

interface Bom {
  readonly bomFormat: string;
  readonly metadata: { readonly component: { readonly name: string; readonly version: string } };
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly purl: string;
  }[];
}

const TARBALLS = Object.entries(inject("tarballs"));
const dir = mkdtempSync(join(tmpdir(), "headgate-sboms-"));
afterAll(() => rmSync(dir, { recursive: true }));

beforeAll(() => {
  for (const [, tarball] of TARBALLS) cpSync(tarball, join(dir, basename(tarball)));
  execFileSync(process.execPath, [join(ROOT, "scripts/sbom.mjs"), dir], { stdio: "pipe" });
}, 300_000);

function manifestOf(path: string): {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
} {
  return JSON.parse(readFileSync(join(path, "package.json"), "utf8"));
}

function bomOf(tarball: string): { readonly bom: Bom; readonly text: string } {
  const text = readFileSync(join(dir, basename(tarball, ".tgz").concat(".cdx.json")), "utf8");
  return { bom: JSON.parse(text), text };
}

test.each(TARBALLS)(
  "@headgate/%s has a bill of materials with its dependencies",
  (name, tarball) => {
    const { bom, text } = bomOf(tarball);
    const manifest = manifestOf(join(ROOT, "packages", name));
    expect(bom.bomFormat).toBe("CycloneDX");
    expect(bom.metadata.component).toMatchObject({
      name: manifest.name,
      version: manifest.version,
    });
    const listed = bom.components.map((one) => one.name);
    expect(listed).toEqual(expect.arrayContaining(Object.keys(manifest.dependencies ?? {})));
    expect(listed).not.toContain("vitest");
    for (const { purl, version } of bom.components) {
      expect(purl).toMatch(/^pkg:npm\//);
      expect(purl).toContain(`@${version}`);
    }
    expect(text).not.toContain(tmpdir());
  },
);

test("the dashboard's bill of materials has the packages compiled into its page", () => {
  const { bom } = bomOf(inject("tarballs")["dashboard"] as string);
  const page = join(ROOT, "packages/dashboard/page/src");
  const sources = readdirSync(page, { recursive: true, encoding: "utf8" })
    .filter((file) => /\.tsx?$/.test(file) && !/\.test\./.test(file))
    .map((file) => readFileSync(join(page, file), "utf8"));
  const imported = sources.flatMap((text) =>
    [...text.matchAll(/from "((?:@[\w-]+\/)?[a-z][\w-]*)/g)].map(([, name]) => name as string),
  );
  const listed = bom.components.map(({ name }) => name);
  expect(listed).toEqual(expect.arrayContaining([...new Set(imported)]));
  const { version } = manifestOf(join(ROOT, "packages/dashboard/node_modules/preact"));
  expect(bom.components).toContainEqual(expect.objectContaining({ name: "preact", version }));
});
