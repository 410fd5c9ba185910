import { expect, test } from "vitest";
import { findingsWithTimeout } from "./findings.ts";

const report = { checks: [{ findings: [{ status: "ok", message: "all is well" }] }] };

test("a doctor that never answers is a finding itself", async () => {
  expect(await findingsWithTimeout(1, () => new Promise(() => {}))).toEqual([
    { level: "warning", title: "The doctor has not answered within 0.001 seconds" },
  ]);
});

test("a doctor in time has its findings, or fails", async () => {
  expect(await findingsWithTimeout(60_000, async () => report)).toMatchObject([
    { level: "ok", title: "all is well" },
  ]);
  const failing = () => Promise.reject(new Error("ill"));
  await expect(findingsWithTimeout(60_000, failing)).rejects.toThrow("ill");
});
