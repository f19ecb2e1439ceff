/**
 * Opens a store on each URL it is given, uses it, closes it, and prints how that went. It ends when nothing is left
 * that keeps a process alive.
 */
import { createClock } from '../../../dist/modules/lib/clock.js';
import { createRedisStore } from '../../../dist/modules/store/redis/redis-store.js';

const logger = { info() {}, warn() {}, error() {} };
for (const url of process.argv.slice(2)) {
  try {
    const store = await createRedisStore({ connection: { url }, clock: createClock(), logger });
    store.bus.subscribe('news', () => {});
    await store.registry.commit({ writes: new Map([['a', '1']]) });
    await store.close();
    process.stdout.write('closed\n');
  } catch (error) {
    process.stdout.write(`${error.name}\n`);
  }
}
