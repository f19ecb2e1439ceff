/** A supervisor that sends to a worker which has just been killed, as Node does with a connection: says what was logged. */
import cluster from 'node:cluster';
import { readdirSync, readFileSync } from 'node:fs';

if (cluster.isPrimary) {
  // Workers do without: they start sooner.
  const { Workers } = await import('../../dist/modules/server/workers.js');
  const told = [];
  let started = 0;
  cluster.on('fork', (worker) => {
    started += 1;
    if (started === 1) worker.once('online', () => sendToTheDead(worker));
    else worker.once('online', () => process.stdout.write(JSON.stringify(told), () => process.exit(0)));
  });
  const sendToTheDead = (worker) => {
    process.kill(worker.process.pid, 'SIGKILL');
    // Dead to its last thread, which has the files, and the supervisor is not told yet: its loop does not turn meanwhile.
    const proc = `/proc/${worker.process.pid}`;
    while (!readFileSync(`${proc}/stat`, 'utf8').includes(') Z ') || readdirSync(`${proc}/task`).length > 1);
    for (let time = 0; time < 5; time++) worker.send({ time, text: 'x'.repeat(100_000) });
  };
  new Workers({ error() {}, warn: ({ err }) => told.push(err.code) }).start(1);
} else {
  setInterval(() => {}, 1000);
}
