/**
 * Prints "<passed> <failed>" of a vitest JSON report. Anything that is neither counts as failed: nothing is skipped.
 * Adds what failed to a second file, so that the run can end with it: logs are often cut at their front.
 */
import { appendFileSync, readFileSync } from 'node:fs';

const [, , report, failures] = process.argv;
const { numPassedTests, numTotalTests, numFailedTestSuites, success, testResults } = JSON.parse(
  readFileSync(report, 'utf8'),
);
const notPassed = numTotalTests - numPassedTests;
const failed = notPassed > 0 ? notPassed : numFailedTestSuites;
const LINES = 12;
const start = (text) => text.split('\n').slice(0, LINES).join('\n');
for (const { name, status, message, assertionResults } of testResults) {
  const tests = assertionResults.filter((test) => test.status !== 'passed');
  if (status === 'failed' && tests.length === 0)
    appendFileSync(failures, `FAILED: ${name}\n${start(message)}\n`);
  for (const { fullName, failureMessages = [] } of tests)
    appendFileSync(failures, `FAILED: ${name}: ${fullName}\n${start(failureMessages.join('\n'))}\n`);
}
process.stdout.write(`${numPassedTests} ${success || failed > 0 ? failed : 1}\n`);
