import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { RedisStore } from '../../../src/store/redis/redis-store.js';
import { type RedisServer, startRedis } from '../../support/redis.js';
import { commandsDuring } from '../../support/redis-monitor.js';
import { waitFor } from '../../support/wait-for.js';
import { change } from '../conformance-registry.js';
import type { TestLog } from '../test-log.js';
import { openStore, withControl } from './open-store.js';

let primary: RedisServer;
let replica: RedisServer;
let store: RedisStore;
let log: TestLog;

beforeAll(async () => {
  primary = await startRedis({ args: ['--repl-diskless-sync-delay', '0'] });
  replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(primary.port)] });
  await withControl(primary.url, (control) =>
    waitFor('the replica', () => shows(control, 'replication', /state=online/)),
  );
});

beforeEach(async () => {
  // The first word from a replica that has just synchronised may take a second.
  await withControl(primary.url, async (control) => {
    await control.flushall();
    expect(await control.wait(1, 20_000)).toBe(1);
  });
  ({ store, log } = await openStore(primary.url, { timeoutMs: 10_000, registryTimeoutMs: 20_000 }));
  const opened = store;
  onTestFinished(() => opened.close());
});

afterAll(async () => {
  await replica.close();
  await primary.close();
});

/** A store that waits shortly for a replica, and that replica stopped. */
async function openWithoutReplica() {
  const impatient = await openStore(primary.url, { timeoutMs: 100, registryTimeoutMs: 20_000 });
  replica.pause();
  onTestFinished(async () => {
    replica.resume();
    await impatient.store.close();
  });
  return impatient;
}

const shows = async (control: Redis, section: string, pattern: RegExp) =>
  pattern.test(await control.info(section));

const unconfirmed = ({ lines }: TestLog) =>
  lines.filter(({ message }) => message.includes('not every replica'));

/** The WAIT commands that the primary gets meanwhile. */
async function watchWaits(use: () => Promise<unknown>): Promise<(readonly string[])[]> {
  const seen = await commandsDuring(primary.url, use);
  return seen.map(({ args }) => args).filter(([name]) => name === 'wait');
}

describe('a registry with a replica', () => {
  it('has every commit on the replica when it is acknowledged', async () => {
    for (let at = 1; at <= 20; at += 1) {
      await store.registry.commit(change({ a: `${at}` }));
      const there = await withControl(replica.url, (control) =>
        control.hget('dgw:1:{registry}:records', 'a'),
      );
      expect(there).toBe(`${at}`);
    }
    expect(unconfirmed(log).map(({ fields }) => JSON.stringify(fields))).toEqual([]);
  });

  it('has every document and batch of counters there too when it is acknowledged', async () => {
    await withControl(replica.url, async (there) => {
      for (let at = 1; at <= 10; at += 1) {
        await store.documents.create(`${at}`, 'made', 60_000);
        expect(await there.get(`dgw:1:{notes}:note:${at}`)).toBe('made');
        await store.documents.replace(`${at}`, 'made', 'changed', 60_000);
        expect(await there.get(`dgw:1:{notes}:note:${at}`)).toBe('changed');
        await store.documents.replace(`${at}`, 'changed', null, 60_000);
        expect(await there.exists(`dgw:1:{notes}:note:${at}`)).toBe(0);
        await store.counters.add(`${at}`, [{ group: 'a', field: 'calls', by: 1 }], [], 60_000);
        expect(await there.hget('dgw:1:{tallies}:book:a', 'calls')).toBe(`${at}`);
      }
    });
    expect(unconfirmed(log)).toEqual([]);
  });

  it('is waited for once for every change of a document, and not for what changes nothing', async () => {
    const { documents } = store;
    const waits = await watchWaits(async () => {
      await documents.create('n', 'one', 60_000);
      await documents.create('n', 'two', 60_000);
      await documents.replace('n', 'two', 'three', 60_000);
      await documents.get('n');
    });
    expect(waits).toEqual([['wait', '1', '10000']]);
    expect(await watchWaits(() => documents.replace('n', 'one', 'two', 60_000))).toEqual(waits);
    expect(await watchWaits(() => documents.replace('n', 'two', null, 0))).toEqual(waits);
  });

  it('is told of when it does not confirm a document or a batch, which are made all the same', async () => {
    const impatient = await openWithoutReplica();
    const { documents, counters } = impatient.store;
    expect(await documents.create('n', 'made', 60_000)).toBeNull();
    await counters.add('batch', [{ group: 'a', field: 'calls', by: 1 }], [], 60_000);
    expect(unconfirmed(impatient.log)).toMatchObject([
      { level: 'warn', fields: { document: 'n', replicas: 1, confirmed: 0 } },
      { level: 'warn', fields: { batchId: 'batch', replicas: 1, confirmed: 0 } },
    ]);
    expect(await documents.get('n')).toBe('made');
  });

  it('makes commits that a replica does not confirm, says so, and does not wait for it for ever', async () => {
    const impatient = await openWithoutReplica();
    const { registry } = impatient.store;
    const waits = await watchWaits(async () => {
      expect(await registry.commit(change({ a: '1' }))).toEqual({ version: 1 });
      // After three seconds without a word from it, it is not waited for any more.
      await withControl(primary.url, (control) =>
        waitFor('a replica that lags', () => shows(control, 'replication', /lag=[3-9]/)),
      );
      expect(await registry.commit(change({ a: '2' }))).toEqual({ version: 2 });
    });
    expect(waits).toEqual([
      ['wait', '1', '100'],
      ['wait', '0', '100'],
    ]);
    expect(unconfirmed(impatient.log)).toMatchObject([
      { level: 'warn', fields: { version: 1, replicas: 1, confirmed: 0 } },
      { level: 'warn', fields: { version: 2, replicas: 1, confirmed: 0 } },
    ]);
  });

  it('sends readers to a load after a failover, whatever version the new primary has', async () => {
    await store.registry.commit(change({ a: '1' }));
    const { epoch, version } = await store.registry.load();
    expect(await store.registry.changes(epoch, version)).not.toBeNull();

    // The same epoch and the same version, but possibly not the same commits.
    await withControl(replica.url, (control) => control.replicaof('NO', 'ONE'));
    await store.reconnect({ url: replica.url });
    expect(await store.registry.changes(epoch, version)).toBeNull();
    const after = await store.registry.load();
    expect(after).toEqual({ epoch, version, records: new Map([['a', { value: '1', revision: 1 }]]) });
    expect(await store.registry.changes(epoch, version)).not.toBeNull();
  });
});
