import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./markdown.ts";

test("the picture of the algorithms shows what they do", () => {
  const script = join(ROOT, "scripts/draw-algorithms.mjs");
  expect(() => execFileSync(process.execPath, [script, "--check"])).not.toThrow();
});
