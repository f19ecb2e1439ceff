/** Rewrites old pins, and says each call of the store before it is made; then waits. Argument: the folder. */
import { createClock } from '../../../dist/modules/lib/clock.js';
import { formatRows } from '../../../dist/modules/reports/cache/threads/tasks.js';
import { createOldPins } from '../../../dist/modules/reports/history/old-pins.js';
import { createEmbeddedStore } from '../../../dist/modules/store/embedded/embedded-store.js';

const [dataDir] = process.argv.slice(2);
const logger = { info() {}, warn() {}, error() {} };
const store = await createEmbeddedStore({ dataDir, cacheMaxBytes: 1024, clock: createClock(), logger });
const told = (of) =>
  new Proxy(of, {
    get:
      (target, name) =>
      (...all) => {
        process.stdout.write(`${name}\n`);
        return target[name](...all);
      },
  });
const format = async (task) => formatRows(task);
await createOldPins({ store: told(store.oldPins), pins: told(store.pins), format, logger }).adoptAll(
  () => false,
);
setInterval(() => process.stdout.write('done\n'), 10);
