/** Commands of one turn go to Redis together, and each is answered for itself. */
import { setImmediate } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { evaluate } from '../../../src/store/redis/batches.js';
import { waitFor } from '../../support/wait-for.js';
import { serverOfFile, withControl } from './open-store.js';

const LUA = `
if #ARGV == 0 then return redis.call('HGETALL', KEYS[1]) end
return redis.call('HMGET', KEYS[1], unpack(ARGV))`;
/** Fields of hashes, null for all, with the errors of their reads. */
const readHashes = (of: Redis, reads: readonly { hash: string; fields: readonly string[] | null }[]) =>
  Promise.all(
    reads.map(({ hash, fields }) =>
      evaluate(of, 'eval', LUA, [hash], fields ?? [], true).then(
        (reply) => [null, reply] as const,
        (error: unknown) => [error, null] as const,
      ),
    ),
  );

const server = serverOfFile();
let client: Redis;

beforeEach(async () => {
  client = new Redis(server.url, { enableOfflineQueue: false, retryStrategy: null });
  client.on('error', () => {});
  await new Promise((resolve) => client.once('ready', resolve));
  onTestFinished(() => client.disconnect());
  await withControl(server.url, async (control) => {
    for (let n = 0; n < 50; n++) await control.hset(`hash-${n}`, 'field', `value ${n}`);
    await control.set('text', 'no hash');
  });
});

const read = async (name: string, fields: readonly string[] | null = ['field']) =>
  (await readHashes(client, [{ hash: name, fields }]))?.[0];

it('sends those of one turn as one message', async () => {
  await withControl(server.url, async (control) => {
    /** Messages that Redis has taken from sockets so far, this question among them. */
    const messages = async () => Number(/total_reads_processed:(\d+)/.exec(await control.info('stats'))?.[1]);
    // Who has left is read as well: until nobody else is heard.
    await waitFor('nothing but questions', async () => -(await messages()) + (await messages()) === 1);
    const before = await messages();
    const all = await Promise.all(Array.from({ length: 20 }, (_, n) => read(`hash-${n}`)));
    expect((await messages()) - before).toBe(2);
    expect(all).toEqual(Array.from({ length: 20 }, (_, n) => [null, [Buffer.from(`value ${n}`)]]));
  });
});

it('sends scripts with the reads of their turn, in order', async () => {
  const text = "return {redis.call('HSET', KEYS[1], 'field', ARGV[1]), 'done'}";
  await withControl(server.url, async (control) => {
    const messages = async () => Number(/total_reads_processed:(\d+)/.exec(await control.info('stats'))?.[1]);
    await waitFor('nothing but questions', async () => -(await messages()) + (await messages()) === 1);
    const before = await messages();
    const all = await Promise.all([
      read('hash-1'),
      evaluate(client, 'eval', text, ['hash-1'], ['changed']),
      read('hash-1'),
    ]);
    expect((await messages()) - before).toBe(2);
    expect(all).toEqual([
      [null, [Buffer.from('value 1')]],
      [0, 'done'],
      [null, [Buffer.from('changed')]],
    ]);
  });
});

it('passes on the error of a script', async () => {
  const failing = evaluate(client, 'evalsha', 'f'.repeat(40), ['hash-1'], []);
  const reading = read('hash-1');
  await expect(failing).rejects.toThrow(/^NOSCRIPT/);
  expect(await reading).toEqual([null, [Buffer.from('value 1')]]);
});

it('answers each with its own, however many come together, in whatever form', async () => {
  const several = readHashes(client, [
    { hash: 'hash-7', fields: null },
    { hash: 'hash-8', fields: ['none', 'field'] },
  ]);
  const all = await Promise.all(Array.from({ length: 50 }, (_, n) => read(`hash-${n}`)));
  expect(all.map((one) => String(one?.[1]))).toEqual(Array.from({ length: 50 }, (_, n) => `value ${n}`));
  expect(await several).toEqual([
    [null, [Buffer.from('field'), Buffer.from('value 7')]],
    [null, [null, Buffer.from('value 8')]],
  ]);
});

it('tells all of a connection that is gone, and goes on when another is there', async () => {
  const closed = new Promise((resolve) => client.once('end', resolve));
  const open = [read('hash-1'), read('hash-2')];
  client.disconnect();
  await closed;
  for (const one of open) {
    const [error] = (await one) ?? [];
    expect(error).toBeInstanceOf(Error);
  }
  const next = new Redis(server.url);
  onTestFinished(() => next.disconnect());
  expect(await readHashes(next, [{ hash: 'hash-3', fields: ['field'] }])).toEqual([
    [null, [Buffer.from('value 3')]],
  ]);
});

it('tells the first its reply while those behind it are still on their way', async () => {
  // 8 MiB: far more than is read from a socket in a few turns of the loop.
  const body = Buffer.alloc(16_384, 'x');
  for (let n = 0; n < 512; n++) void client.hset('large', `field-${n}`, body);
  let isLargeThere = false;
  const small = read('hash-1');
  const large = read('large', null).then((reply) => {
    isLargeThere = true;
    return reply;
  });
  expect(await small).toEqual([null, [Buffer.from('value 1')]]);
  await setImmediate();
  expect(isLargeThere).toBe(false);
  const [error, fields] = (await large) ?? [];
  expect(error).toBeNull();
  expect(fields).toHaveLength(2 * 512);
});
