/** Prints "<passed> <failed>" of a vitest JSON report. Anything that is neither counts as failed: nothing is skipped. */
import { readFileSync } from 'node:fs';

const { numPassedTests, numTotalTests, numFailedTestSuites, success } = JSON.parse(
  readFileSync(process.argv[2], 'utf8'),
);
const notPassed = numTotalTests - numPassedTests;
const failed = notPassed > 0 ? notPassed : numFailedTestSuites;
process.stdout.write(`${numPassedTests} ${success || failed > 0 ? failed : 1}\n`);
