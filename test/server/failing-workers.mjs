/** A supervisor whose workers end at their start without a word: says how that ends. */
import cluster from 'node:cluster';
import { superviseWorkers } from '../../dist/modules/server/supervise.js';

if (cluster.isPrimary) {
  const logger = { error() {}, warn() {} };
  let started = 0;
  const follow = () => {
    started += 1;
  };
  const supervision = superviseWorkers({ count: 2, logger, follow });
  supervision.failed.catch(async ({ fault }) => {
    await supervision.stop(1000);
    process.stdout.write(JSON.stringify({ ...fault, started }));
    process.exit(0);
  });
} else {
  process.exit(3);
}
