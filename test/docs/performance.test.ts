import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { linksOf, page, ROOT } from "./markdown.ts";

const PAGE = page("docs/understand/performance.md");

test("the performance page and its pictures show the figures of the saved run", () => {
  const check = (): unknown =>
    execFileSync(process.execPath, [join(ROOT, "scripts/draw-performance.mjs"), "--check"], {
      stdio: "pipe",
    });
  expect(check).not.toThrow();
});

test("the page shows both pictures", () => {
  expect(linksOf(PAGE).map(({ target }) => target)).toEqual(
    expect.arrayContaining(["docs/images/performance.svg", "docs/images/performance-http.svg"]),
  );
});
