// Prints "N passed, N failed" of Vitest's JSON results, of one run or of several together, after what failed and why. Fails when
// a test failed, when a file could not be run, and when a run had none.
import { readFileSync } from "node:fs";
import { relative } from "node:path";

/** Characters of what a test says of its failure. */
const MOST_PRINTED = 2_000;

const runs = process.argv.slice(2).map(readResults);
const passed = sum(runs.map(({ numPassedTests }) => numPassedTests));
const failed = sum(runs.map(failuresOf));
for (const run of runs) printFailures(run);
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

function printFailures({ testResults }) {
  for (const { name, status, message, assertionResults } of testResults) {
    const file = relative(process.cwd(), name);
    const failures = assertionResults.filter((test) => test.status === "failed");
    for (const { fullName, failureMessages } of failures) {
      console.log(
        `FAILED ${file}: ${fullName}\n${failureMessages.join("\n").slice(0, MOST_PRINTED)}`,
      );
    }
    if (status === "failed" && failures.length === 0) {
      console.log(`FAILED ${file}\n${(message ?? "").slice(0, MOST_PRINTED)}`);
    }
  }
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
