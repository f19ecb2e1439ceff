/** Locks the folder it is given, prints `held` or the refusal, and keeps it until its input ends. */
import { once } from 'node:events';
import { lockFolder } from '../../../dist/modules/store/embedded/folder-lock.js';

const [folder] = process.argv.slice(2);
const logger = { info() {}, warn() {}, error() {} };
try {
  const lock = await lockFolder(folder, { logger });
  process.stdout.write('held\n');
  await once(process.stdin.resume(), 'end');
  await lock.release();
} catch (error) {
  process.stdout.write(`${error.name}: ${error.message}\n`);
}
