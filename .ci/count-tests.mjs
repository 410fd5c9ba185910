// Prints "N passed, N failed" of Vitest's JSON results. Fails when a test failed, when a file could not be run, and when none ran.
import { readFileSync } from "node:fs";

const results = readResults(process.argv[2]);
const passed = results.numPassedTests;
// A file that does not load has no tests that could fail.
const broken = results.testResults.filter(
  ({ status, assertionResults }) =>
    status === "failed" && !assertionResults.some((test) => test.status === "failed"),
).length;
const failed = results.numFailedTests + broken;
console.log(`${passed} passed, ${failed} failed`);
if (failed > 0 || passed === 0) process.exit(1);

function readResults(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return { numPassedTests: 0, numFailedTests: 0, testResults: [] };
  }
}
