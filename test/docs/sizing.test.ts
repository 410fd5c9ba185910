import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./markdown.ts";

test("the sizing page shows the figures of the saved run", () => {
  const check = (): unknown =>
    execFileSync(process.execPath, [join(ROOT, "scripts/write-sizing.mjs"), "--check"], {
      stdio: "pipe",
    });
  expect(check).not.toThrow();
});
