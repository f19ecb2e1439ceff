import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Store } from '../../../src/store/port.js';
import { openOnRedis } from '../../support/on-redis.js';
import { type RedisServer, startRedis } from '../../support/redis.js';
import { openReplica } from '../../support/shared-registry.js';

let server: RedisServer;
let prefixes = 0;

beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.close());

const set = (id: string, value: string | null) => ({ writes: new Map([[id, value]]) });

/** Two connections of two gateways to one registry. */
async function openTwo(): Promise<[Store, Store]> {
  prefixes += 1;
  const open = () => openOnRedis(server, `replica-${prefixes}`);
  return [await open(), await open()];
}

describe('two replicas on one Redis', () => {
  it('agree after many commits at once, of which each sees its own at once', async () => {
    const [first, second] = await openTwo();
    const replicas = [await openReplica(first), await openReplica(second)];
    await Promise.all(
      replicas.map(async ({ registry }, index) => {
        for (let count = 1; count <= 50; count++) {
          const id = `own/${index}`;
          const value = count % 5 === 0 ? null : String(count);
          await registry.commit({
            writes: new Map([
              [id, value],
              ['shared', `${index}-${count}`],
            ]),
          });
          expect(registry.get(id)?.value).toBe(value ?? undefined);
        }
      }),
    );
    await Promise.all(replicas.map(({ registry }) => registry.refresh()));
    const [one, two] = replicas.map(({ registry }) => new Map(registry.list('')));
    expect(one).toEqual(two);
    expect(one).toEqual((await first.registry.load()).records);
  });

  it('put an emptied registry back, and have what is committed to it meanwhile', async () => {
    const [first, second] = await openTwo();
    const [one, two] = [await openReplica(first), await openReplica(second)];
    await one.registry.commit(set('team/a', '1'));
    await two.registry.refresh();
    const control = new Redis(server.url);
    onTestFinished(() => control.disconnect());
    for (const key of await control.keys(`replica-${prefixes}:*`)) await control.del(key);
    await two.registry.commit(set('team/b', '2'));
    await one.registry.refresh();
    for (const { registry } of [one, two]) {
      expect(new Map(registry.list(''))).toEqual(
        new Map([
          ['team/a', { value: '1', revision: 1 }],
          ['team/b', { value: '2', revision: 2 }],
        ]),
      );
    }
  });
});
