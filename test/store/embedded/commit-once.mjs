/** Makes one commit at a time, and says so of each once it is acknowledged. Arguments: the folder; how many. */
import { createClock } from '../../../dist/modules/lib/clock.js';
import { createEmbeddedStore } from '../../../dist/modules/store/embedded/embedded-store.js';

const [dataDir, times] = process.argv.slice(2);
const logger = { info() {}, warn() {}, error() {} };
const store = await createEmbeddedStore({ dataDir, cacheMaxBytes: 1024, clock: createClock(), logger });
for (let at = 0; at < Number(times); at += 1) {
  process.stdout.write('begun\n');
  await store.registry.commit({ writes: new Map([[`r${at}`, 'x'.repeat(300)]]), audit: ['line'] });
  process.stdout.write('acknowledged\n');
}
await store.close();
