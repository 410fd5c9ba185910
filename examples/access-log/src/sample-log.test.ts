import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { SAMPLE_LOG } from "./settings.ts";

test("the sample log equals the output of its script", () => {
  const script = fileURLToPath(new URL("../scripts/make-sample-log.mjs", import.meta.url));
  expect(execFileSync(process.execPath, [script], { encoding: "utf8" })).toBe(
    readFileSync(SAMPLE_LOG, "utf8"),
  );
});

test("the sample log has only addresses and names reserved for documentation", () => {
  for (const line of readFileSync(SAMPLE_LOG, "utf8").split("\n")) {
    const client = line.split(" ")[0] ?? "";
    expect(client).toMatch(
      /^(192\.0\.2|198\.51\.100|203\.0\.113)\.\d+$|^2001:db8:|\.example$|^#?$/,
    );
    for (const [, host] of line.matchAll(/https?:\/\/([^/"\s]+)/g)) {
      expect(host).toMatch(/(^|\.)example(\.com|\.org)?$|^sea$/);
    }
  }
});
