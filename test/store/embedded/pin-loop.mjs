/** Adds a pin and removes the third last one, for as long as it lives; says the number of each that is acknowledged. Argument: the folder. */
import { createClock } from '../../../dist/modules/lib/clock.js';
import { createEmbeddedStore } from '../../../dist/modules/store/embedded/embedded-store.js';

const [dataDir] = process.argv.slice(2);
const logger = { info() {}, warn() {}, error() {} };
const { pins } = await createEmbeddedStore({ dataDir, cacheMaxBytes: 1024, clock: createClock(), logger });
for (;;) {
  const { stamp, index } = await pins.read('t:0');
  const listed = index === null ? [] : JSON.parse(index.toString());
  const next = (listed.at(-1) ?? 0) + 1;
  const stay = [...listed, next].slice(-3);
  const added = new Map([[String(next), Buffer.alloc(9_000, String(next))]]);
  const removed = listed.filter((one) => !stay.includes(one)).map(String);
  await pins.write('t:0', { stamp, index: Buffer.from(JSON.stringify(stay)), added, removed });
  process.stdout.write(`${next}\n`);
}
