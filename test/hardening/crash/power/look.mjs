/**
 * Opens the store in one folder after the other, as a gateway does, and prints what it holds. Each line of standard input is
 * JSON: the folder, idempotency keys of the team `free`, and purses.
 */
import { createInterface } from 'node:readline';
import { idempotencyDocument } from '../../../../dist/modules/api/proxy/idempotency-record.js';
import { createClock } from '../../../../dist/modules/lib/clock.js';
import { createEmbeddedStore } from '../../../../dist/modules/store/embedded/embedded-store.js';
import { purseOf } from '../../../../dist/modules/teams/write-guard/reservations.js';

for await (const line of createInterface({ input: process.stdin })) {
  const { dataDir, once, purses } = JSON.parse(line);
  const told = [];
  const tell = (_, message) => told.push(message);
  try {
    const logger = { info() {}, warn: tell, error: tell };
    const store = await createEmbeddedStore({
      dataDir,
      cacheMaxBytes: 2 ** 28,
      clock: createClock(),
      logger,
    });
    const { records } = await store.registry.load('leave');
    const texts = Object.fromEntries([...records].map(([id, { value }]) => [id, value]));
    const documents = {};
    for (const key of once) documents[key] = await store.documents.get(idempotencyDocument('free', key));
    let charged = 0;
    for (const purse of purses) charged += await store.charges.charged(purseOf(purse));
    await store.close();
    process.stdout.write(`${JSON.stringify({ records: texts, documents, charged, told })}\n`);
  } catch (error) {
    process.stdout.write(`${JSON.stringify({ refused: error.message, told })}\n`);
  }
}
