import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./markdown.ts";

test("the page of sizing says what the run says that is kept for it", () => {
  const check = (): unknown =>
    execFileSync(process.execPath, [join(ROOT, "scripts/write-sizing.mjs"), "--check"], {
      stdio: "pipe",
    });
  expect(check).not.toThrow();
});
