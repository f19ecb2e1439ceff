/**
 * A process of its own that copies an environment, as it is at one moment, into a folder that is there. What is wrong is
 * printed, with exit code 1; lmdb may end it by a signal, where what is to be copied is damaged.
 */
import { dirname } from 'node:path';
import { openGateIfThere } from './gate.js';
import { openState } from './state-folder.js';

try {
  const [from = '', to = ''] = process.argv.slice(2);
  const logger = { info() {}, warn() {}, error() {} };
  const gate = openGateIfThere(dirname(from));
  const environment = await openState(from, { gate, logger, readOnly: true });
  await environment.backup(to);
  await environment.close();
  await gate.close();
} catch (error) {
  process.stdout.write(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
