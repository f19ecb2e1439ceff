/**
 * Opens the embedded store on the folder it is given, prints `held` or the refusal, and keeps it until its input
 * ends; then it closes it.
 */
import { once } from 'node:events';
import { createClock } from '../../../dist/modules/lib/clock.js';
import { createEmbeddedStore } from '../../../dist/modules/store/embedded/embedded-store.js';

const [dataDir] = process.argv.slice(2);
const logger = { info() {}, warn() {}, error() {} };
try {
  const store = await createEmbeddedStore({ dataDir, cacheMaxBytes: 1024, clock: createClock(), logger });
  process.stdout.write('held\n');
  await once(process.stdin.resume(), 'end');
  await store.close();
} catch (error) {
  process.stdout.write(`${error.name}: ${error.message}\n`);
}
