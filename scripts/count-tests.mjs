// Prints `N passed, N failed` from the reports in test-results/, and exits with 1 unless all is well.
// Usage: node scripts/count-tests.mjs <number of commands that failed outside the tests>
import { readdirSync, readFileSync } from "node:fs";

const folder = new URL("../test-results/", import.meta.url);
const failedCommands = Number(process.argv[2] ?? 0);

let passed = 0;
let failed = 0;
let reports = [];
try {
  reports = readdirSync(folder).filter((name) => name.endsWith(".json"));
} catch {
  // No folder: no test ran, which counts as a failure below.
}
for (const name of reports) {
  const report = JSON.parse(readFileSync(new URL(name, folder), "utf8"));
  passed += report.numPassedTests;
  failed += report.numFailedTests;
  // A file that could not be loaded has no tests to count, yet it has failed.
  failed += report.testResults.filter((file) => file.status === "failed" && file.assertionResults.length === 0).length;
}
// A command that failed although every test passed (the linter, the build, a run without tests) is a failure too.
if (failed === 0) failed = failedCommands;
if (passed === 0 && failed === 0) failed = 1;

console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
