// Prints "N passed, N failed" of Vitest's JSON results, of one run or of several together. Fails when a test failed, when a file
// could not be run, and when a run had none.
import { readFileSync } from "node:fs";

const runs = process.argv.slice(2).map(readResults);
const passed = sum(runs.map(({ numPassedTests }) => numPassedTests));
const failed = sum(runs.map(failuresOf));
console.log(`${passed} passed, ${failed} failed`);
if (failed > 0 || runs.some(({ numPassedTests }) => numPassedTests === 0)) process.exit(1);

function failuresOf({ numFailedTests, testResults }) {
  // A file that does not load has no tests that could fail.
  const broken = testResults.filter(
    ({ status, assertionResults }) =>
      status === "failed" && !assertionResults.some((test) => test.status === "failed"),
  );
  return numFailedTests + broken.length;
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}

function readResults(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return { numPassedTests: 0, numFailedTests: 0, testResults: [] };
  }
}
