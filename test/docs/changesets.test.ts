import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./markdown.ts";

const PACKAGES = readdirSync(join(ROOT, "packages")).map((name) => `@headgate/${name}`);

const notes = readdirSync(join(ROOT, ".changeset")).filter((file) => file.endsWith(".md"));

/** Where one cannot be read, `changeset` refuses to make a release. */
test.each(notes)("the release note %s says which packages it is for", (file) => {
  const text = readFileSync(join(ROOT, ".changeset", file), "utf8");
  const [, head = ""] = /^---\n([\s\S]*?)\n---\n+\S/.exec(text) ?? [];
  const lines = head.trim().split("\n");
  const released = lines.map((line) => /^"(.+)": (?:major|minor|patch)$/.exec(line)?.[1]);
  expect(PACKAGES).toEqual(expect.arrayContaining(released));
});
