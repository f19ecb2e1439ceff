/** Asks for a secret at this process's terminal, and writes what it got to the file that is named. */
import { writeFileSync } from 'node:fs';
import { readSecret } from '../../dist/modules/cli/read-secret.js';
import { processTerminal } from '../../dist/modules/cli/terminal.js';

try {
  writeFileSync(process.argv[2], await readSecret(processTerminal(), undefined, 'Platform token'));
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error.exitCode;
}
