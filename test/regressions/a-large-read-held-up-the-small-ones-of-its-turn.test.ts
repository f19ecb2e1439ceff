/**
 * Reads of one turn go to Redis as one pipeline, and each was told its replies when the last of all had come: a small read
 * beside some long reports took as long as they did, and where that was too long for one it was for all.
 */
import { setImmediate } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { createReadBatches } from '../../src/store/redis/read-batches.js';
import { startServer } from '../store/redis/open-store.js';

it('tells the first its reply while those behind it are still on their way', async () => {
  const server = await startServer();
  const client = new Redis(server.url);
  onTestFinished(() => client.disconnect());
  const body = Buffer.alloc(16_384, 'x');
  // 16 MiB: far more than is read from a socket in a few turns of the loop.
  for (let n = 0; n < 1024; n++) await client.hset('large', `field-${n}`, body);
  await client.hset('small', 'field', 'value');

  const readHashes = createReadBatches();
  let isLargeThere = false;
  const small = readHashes(client, [{ hash: 'small', fields: ['field'] }]);
  const large = readHashes(client, [{ hash: 'large', fields: null }]).then((replies) => {
    isLargeThere = true;
    return replies;
  });
  expect(await small).toEqual([[null, [Buffer.from('value')]]]);
  await setImmediate();
  expect(isLargeThere).toBe(false);
  const [[error, fields] = []] = (await large) ?? [];
  expect(error).toBeNull();
  expect(Object.keys(fields as object)).toHaveLength(1024);
});
