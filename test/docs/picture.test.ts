import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { linksOf, PAGES, ROOT } from "./markdown.ts";

test.each([
  {
    what: "the algorithms shows what they do",
    script: "scripts/draw-algorithms.mjs",
    picture: "docs/images/algorithms.svg",
  },
  {
    what: "an outage shows the run that is kept with it",
    script: "scripts/draw-outage.mjs",
    picture: "docs/images/outage.svg",
  },
  {
    what: "load shedding shows the run that is kept with it",
    script: "scripts/draw-shedding.mjs",
    picture: "docs/images/shedding.svg",
  },
])("the picture of $what", ({ script, picture }) => {
  const check = (): unknown =>
    execFileSync(process.execPath, [join(ROOT, script), "--check"], { stdio: "pipe" });
  expect(check).not.toThrow();
  expect(PAGES.flatMap(linksOf).map(({ target }) => target)).toContain(picture);
});
