import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { fixedSecret } from '../../../src/config/secret.js';
import { createClock } from '../../../src/lib/clock.js';
import { createSealer, SealError } from '../../../src/platform/credential/seal.js';
import { createEmbeddedStore } from '../../../src/store/embedded/embedded-store.js';
import { openPepper } from '../../../src/teams/auth/pepper.js';
import { openOnRedis } from '../../support/on-redis.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { type RedisServer, startRedis } from '../../support/redis.js';
import { openInMemory, openReplica, withoutBus } from '../../support/shared-registry.js';

const sealerOf = (...keys: Buffer[]) =>
  createSealer(fixedSecret('GATEWAY_MASTER_KEY', keys.map((key) => key.toString('base64')).join(',')));
const KEY = randomBytes(32);

describe('the pepper', () => {
  it('is made once, random, and sealed where it is kept', async () => {
    const { registry } = await openReplica(withoutBus(await openInMemory()));
    const pepper = await openPepper(registry, sealerOf(KEY));
    expect(pepper()).toHaveLength(32);
    expect(pepper()).toBe(pepper());
    expect((await openPepper(registry, sealerOf(KEY)))()).toEqual(pepper());
    const [[id, { value }] = ['', { value: '' }], ...others] = registry.list('');
    expect([id, others]).toEqual(['meta/pepper', []]);
    for (const encoding of ['base64url', 'base64', 'hex'] as const)
      expect(value).not.toContain(pepper().toString(encoding).replace(/=*$/, ''));
    const another = await openReplica(withoutBus(await openInMemory()));
    expect((await openPepper(another.registry, sealerOf(KEY)))()).not.toEqual(pepper());
  });

  it('outlives a restart', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dgw-pepper-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const start = async () => {
      const store = await createEmbeddedStore({
        dataDir: folder,
        cacheMaxBytes: 1_000_000,
        clock: createClock(),
        logger: createRecordedLog().logger,
      });
      const { registry } = await openReplica(store);
      const pepper = (await openPepper(registry, sealerOf(KEY)))();
      registry.stop();
      await store.close();
      return pepper;
    };
    expect(await start()).toEqual(await start());
  });

  it('opens under a second master key, and not under another', async () => {
    const { registry } = await openReplica(withoutBus(await openInMemory()));
    const pepper = (await openPepper(registry, sealerOf(KEY)))();
    expect((await openPepper(registry, sealerOf(randomBytes(32), KEY)))()).toEqual(pepper);
    await expect(openPepper(registry, sealerOf(randomBytes(32)))).rejects.toThrow(SealError);
  });

  it('lets nobody in when it is deleted under a running gateway, and makes no other', async () => {
    const { registry } = await openReplica(withoutBus(await openInMemory()));
    const pepper = await openPepper(registry, sealerOf(KEY));
    const [[id, { value }] = ['', { value: '' }]] = registry.list('');
    await registry.commit({ writes: new Map([[id, null]]) });
    expect(pepper).toThrow(expect.objectContaining({ code: 'not_ready', status: 503 }));
    expect(registry.list('')).toEqual([]);
    // Restored, it goes on.
    await registry.commit({ writes: new Map([[id, value]]) });
    expect(pepper()).toHaveLength(32);
  });
});

describe('two replicas that start at once on an empty Redis', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.close());

  it.each(Array.from({ length: 2 }, (_, round) => round))('have one pepper (round %i)', async (round) => {
    const start = async () => {
      const store = await openOnRedis(server, `pepper-${round}`);
      // Both have loaded before either writes.
      return (await openReplica(withoutBus(store))).registry;
    };
    const registries = [await start(), await start(), await start()];
    const peppers = await Promise.all(registries.map((registry) => openPepper(registry, sealerOf(KEY))));
    const [first, ...others] = peppers.map((pepper) => pepper());
    for (const other of others) expect(other).toEqual(first);
    expect(registries.map(({ version }) => version)).toContain(1);
  });
});
