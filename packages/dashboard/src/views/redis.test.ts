import { expect, test } from "vitest";
import { findingsWithTimeout } from "./redis.ts";

const report = { checks: [{ findings: [{ status: "ok", message: "all is well" }] }] };

test("a doctor that does not finish in time is reported as a finding", async () => {
  expect(await findingsWithTimeout(1, () => new Promise(() => {}))).toEqual([
    { level: "warning", title: "The doctor has not finished within 0.001 seconds" },
  ]);
});

test("a doctor that finishes in time gives its findings, and its error is thrown", async () => {
  expect(await findingsWithTimeout(60_000, async () => report)).toMatchObject([
    { level: "ok", title: "all is well" },
  ]);
  const failing = () => Promise.reject(new Error("ill"));
  await expect(findingsWithTimeout(60_000, failing)).rejects.toThrow("ill");
});
