/** A supervisor whose workers end at their start without a word: says how that ends. */
import cluster from 'node:cluster';

if (cluster.isPrimary) {
  // Workers do without: they start sooner.
  const { Workers } = await import('../../dist/modules/server/workers.js');
  let started = 0;
  cluster.on('fork', () => {
    started += 1;
  });
  const workers = new Workers({ error() {}, warn() {} });
  workers.failed.catch(async ({ fault }) => {
    await workers.stop(1000);
    process.stdout.write(JSON.stringify({ ...fault, started }));
    process.exit(0);
  });
  workers.start(2);
} else {
  process.exit(3);
}
