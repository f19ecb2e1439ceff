/**
 * Commits ever larger records until the disk takes no more, then smaller ones again; prints as JSON what came of
 * each: its number, or the name of the error.
 */
import { createClock } from '../../../dist/clock.js';
import { createEmbeddedStore } from '../../../dist/store/embedded/embedded-store.js';

const [dataDir] = process.argv.slice(2);
const logger = { info() {}, warn() {}, error() {} };
const store = await createEmbeddedStore({ dataDir, cacheMaxBytes: 1024, clock: createClock(), logger });
const outcomes = [];
for (const kib of [1, 2, 4, 8, 16, 32, 64, 1, 64, 1]) {
  const writes = new Map([[`r${outcomes.length}`, 'x'.repeat(kib * 1024)]]);
  outcomes.push(
    await store.registry.commit({ writes }).then(
      ({ version }) => version,
      (error) => error.name,
    ),
  );
}
const { version, records } = await store.registry.load();
process.stdout.write(JSON.stringify({ outcomes, version, ids: [...records.keys()] }));
await store.close();
