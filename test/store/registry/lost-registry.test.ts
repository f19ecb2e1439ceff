/** A Redis without the registry that replicas know: emptied, restarted empty, or holding another one. */
import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { fixedSecret } from '../../../src/config/secret.js';
import { createSealer } from '../../../src/platform/credential/seal.js';
import { type Store, StoreUnavailable } from '../../../src/store/port.js';
import { openRegistry } from '../../../src/store/registry/replica.js';
import { successionRules } from '../../../src/teams/auth/succession-rules.js';
import type { AuditRecord } from '../../../src/telemetry/audit.js';
import { openOnRedis } from '../../support/on-redis.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { type RedisServer, startRedis } from '../../support/redis.js';
import { withoutBus } from '../../support/shared-registry.js';
import { createTestClock, SECOND } from '../../support/test-clock.js';
import { waitFor } from '../../support/wait-for.js';

let server: RedisServer;
let control: Redis;
beforeAll(async () => {
  server = await startRedis();
  control = new Redis(server.url, { retryStrategy: () => 20 });
  control.on('error', () => {});
});
afterAll(async () => {
  control.disconnect();
  await server.close();
});
beforeEach(async () => {
  await control.flushall();
});

const SEALER = createSealer(fixedSecret('GATEWAY_MASTER_KEY', randomBytes(32).toString('base64')));
const key = (revokedAt: string | null, secrets: readonly object[] = [{ hash: 'h1' }]) =>
  JSON.stringify({
    id: 'a',
    teamId: 'x',
    label: '',
    createdAt: '2026-11-01',
    expiresAt: null,
    revokedAt,
    secrets: secrets.map((secret) => ({ prefix: 'p', validUntil: null, ...secret })),
  });
const set = (records: Record<string, string | null>) => ({ writes: new Map(Object.entries(records)) });

const openStore = (prefix = 'lost'): Promise<Store> => openOnRedis(server, prefix, 5000);

interface OneOptions {
  readonly deaf?: boolean;
  /** Its messages about commits get lost; all others arrive. */
  readonly commitsUnheard?: boolean;
  readonly graceMs?: number;
  readonly prefix?: string;
}

function withUnheardCommits(store: Store): Store {
  const publish: Store['bus']['publish'] = async (channel, message) =>
    channel === 'registry' ? undefined : store.bus.publish(channel, message);
  return { ...store, bus: { publish, subscribe: (...args) => store.bus.subscribe(...args) } };
}

async function openOne(options: OneOptions = {}) {
  const store = await openStore(options.prefix);
  const clock = createTestClock();
  const log = createRecordedLog();
  const heard = options.commitsUnheard ? withUnheardCommits(store) : store;
  const registry = await openRegistry({
    store: options.deaf ? withoutBus(store) : heard,
    clock,
    logger: log.logger,
    pollMs: 3_600_000,
    rules: successionRules(SEALER),
    ...(options.graceMs === undefined ? {} : { graceMs: options.graceMs }),
  });
  onTestFinished(() => registry.stop());
  const outcomes: string[] = [];
  registry.onLoss((outcome) => outcomes.push(outcome));
  const textOf = (id: string) => registry.get(id)?.value;
  return { registry, store, clock, log, outcomes, textOf };
}

async function auditOf(store: Store): Promise<AuditRecord[]> {
  return (await store.registry.readAudit(100)).map(({ text }) => JSON.parse(text) as AuditRecord);
}

describe('a registry that is gone from the store', () => {
  it('is put back from memory, with its epoch, versions and revisions, audited', async () => {
    const one = await openOne();
    await one.registry.commit(set({ 'team/x': '{}', 'key/a': key(null) }));
    await one.registry.commit(set({ 'key/a': key('2026-11-20') }));
    const before = await one.store.registry.load();
    await control.flushall();
    await one.registry.refresh();
    expect(await one.store.registry.load()).toEqual(before);
    expect(await auditOf(one.store)).toMatchObject([
      {
        action: 'registry.restore',
        actor: 'gateway',
        after: { epoch: before.epoch, version: 2, records: 2 },
      },
    ]);
    expect(one.outcomes).toEqual(['restored']);
    expect(one.registry.loss).toBeNull();
    expect(one.registry.lastLoss).toMatchObject({ outcome: 'restored', at: '2026-11-21T12:00:00.000Z' });
    expect(one.log.messages('error')).toEqual([
      expect.stringContaining('restored from memory by this replica'),
    ]);
    // It goes on from there.
    await one.registry.commit(set({ 'team/y': '{}' }));
    expect((await one.store.registry.load()).version).toBe(3);
  });

  it('is put back after a restart of the server, however long that took', async () => {
    const one = await openOne();
    await one.registry.commit(set({ 'team/x': '{}' }));
    await one.registry.refresh();
    await server.kill();
    await expect(one.registry.refresh()).rejects.toThrow(StoreUnavailable);
    // The store was away for all that time; nobody can have changed anything in it.
    one.clock.advanceMonotonic(60 * SECOND);
    await server.restart();
    await waitFor('a look that succeeds', () =>
      one.registry.refresh().then(
        () => true,
        () => false,
      ),
    );
    expect((await one.store.registry.load('leave')).records.get('team/x')?.value).toBe('{}');
    expect(one.outcomes).toEqual(['restored']);
  });

  it('that was put back by one who knew less is mended by one who knew more', async () => {
    const behind = await openOne({ deaf: true });
    const ahead = await openOne({ deaf: true });
    await behind.registry.commit(set({ 'team/x': '{}', 'key/a': key(null) }));
    await ahead.registry.refresh();
    await ahead.registry.commit(set({ 'key/a': key('2026-11-21'), 'team/y': '{}' }));
    await control.flushall();
    await behind.registry.refresh();
    expect(behind.textOf('key/a')).toBe(key(null));
    await ahead.registry.refresh();
    await behind.registry.refresh();
    for (const { textOf } of [behind, ahead]) {
      expect(textOf('key/a')).toBe(key('2026-11-21'));
      expect(textOf('team/y')).toBe('{}');
    }
  });

  it('keeps a revocation that only another replica knew when a commit finds the registry gone', async () => {
    const ahead = await openOne({ commitsUnheard: true });
    await ahead.registry.commit(set({ 'team/x': '{}', 'key/a': key(null) }));
    const behind = await openOne();
    await ahead.registry.commit(set({ 'key/a': key('2026-11-21') }));
    await ahead.registry.refresh();
    expect(behind.textOf('key/a')).toBe(key(null));
    await control.flushall();
    // Were it put back from this replica at once, the commit would take the version of the revocation, and nobody would
    // see that it is missing.
    await behind.registry.commit(set({ 'team/y': '{}' }));
    await ahead.registry.refresh();
    for (const { textOf } of [ahead, behind]) expect(textOf('key/a')).toBe(key('2026-11-21'));
    expect((await ahead.store.registry.load()).records.get('key/a')?.value).toBe(key('2026-11-21'));
  });

  it('keeps a deletion and a new record that one replica alone knew, whoever restores it and commits first', async () => {
    const ahead = await openOne({ commitsUnheard: true });
    await ahead.registry.commit(set({ 'team/x': '{}', 'key/a': key(null) }));
    const [behind, third] = [await openOne(), await openOne()];
    await ahead.registry.commit(set({ 'team/x': null, 'team-life/x': '{"life":2}' }));
    await ahead.registry.refresh();
    expect([behind.textOf('team/x'), third.textOf('team/x')]).toEqual(['{}', '{}']);
    await control.flushall();
    await Promise.all([behind.registry.refresh(), third.registry.commit(set({ 'team/y': '{}' }))]);
    for (const { registry } of [ahead, behind, third]) await registry.refresh();
    for (const { textOf } of [ahead, behind, third]) {
      expect(textOf('team/x')).toBeUndefined();
      expect([textOf('team-life/x'), textOf('team/y')]).toEqual(['{"life":2}', '{}']);
    }
  });

  it('is not begun anew by a gateway that starts while others put it back', async () => {
    const one = await openOne();
    await one.registry.commit(set({ 'team/x': '{}' }));
    const { epoch } = one.registry;
    await control.flushall();
    const fresh = await openOne({ graceMs: 5_000 });
    expect(fresh.registry.epoch).toBe(epoch);
    expect(fresh.textOf('team/x')).toBe('{}');
  });
});

describe('a registry that is gone, known to a replica that was out of step', () => {
  it('is left so: memory goes on being used, changes are refused, and it is told once what restores it', async () => {
    const one = await openOne();
    await one.registry.commit(set({ 'team/x': '{}', 'key/a': key('2026-11-20') }));
    one.clock.advanceMonotonic(6 * SECOND);
    await control.flushall();
    await expect(one.registry.refresh()).rejects.toThrow(/registry export.*registry import/s);
    await expect(one.registry.refresh()).rejects.toThrow(StoreUnavailable);
    await expect(one.registry.commit(set({ 'team/y': '{}' }))).rejects.toThrow(StoreUnavailable);
    expect(await control.keys('lost:*')).toEqual([]);
    expect(one.textOf('key/a')).toBe(key('2026-11-20'));
    expect(one.outcomes).toEqual(['left']);
    expect(one.registry.loss?.message).toContain('out of sync for 6 s');
    expect(one.log.messages('error')).toHaveLength(1);
    expect(one.registry.staleForMs()).toBeGreaterThanOrEqual(6 * SECOND);

    await one.registry.recreate({ ...set({ 'team/z': '{}' }), audit: ['by hand'] });
    expect([...(await one.store.registry.load('leave')).records.keys()].sort()).toEqual([
      'key/a',
      'team/x',
      'team/z',
    ]);
    expect(one.registry.loss).toBeNull();
    expect(one.textOf('team/z')).toBe('{}');
  });

  it('is put back by another one that was in step', async () => {
    const stale = await openOne();
    const one = await openOne();
    await one.registry.commit(set({ 'team/x': '{}', 'key/a': key('2026-11-20') }));
    stale.clock.advanceMonotonic(60 * SECOND);
    await control.flushall();
    await Promise.all([stale.registry.refresh(), one.registry.refresh()]);
    expect(stale.textOf('key/a')).toBe(key('2026-11-20'));
    expect([stale.outcomes, one.outcomes]).toEqual([['restored'], ['restored']]);
  });
});

describe('another registry in the store', () => {
  /** Puts what a gateway of another prefix holds in the place of the registry. */
  async function put(records: Record<string, string>): Promise<string> {
    const other = await openOne({ prefix: 'other' });
    await other.registry.commit(set(records));
    await other.registry.commit(set({ further: '1' }));
    for (const name of await control.keys('lost:*')) await control.del(name);
    for (const name of await control.keys('other:*'))
      await control.copy(name, name.replace('other', 'lost'), 'REPLACE');
    return other.registry.epoch;
  }

  it('that somebody restored is taken over, told, and what was revoked stays so', async () => {
    const [one, two] = [await openOne(), await openOne()];
    const another: string[] = [];
    one.registry.onAnother(() => another.push(one.registry.epoch));
    await one.registry.commit(
      set({ 'team/x': '{}', 'key/a': key('2026-11-20'), 'team-life/x': '{"life":2}', 'team/gone': '{}' }),
    );
    await two.registry.refresh();
    const epoch = await put({
      'team/x': '{}',
      'key/a': key(null),
      'key/b': key(null),
      'team-life/x': '{"life":1}',
    });
    await Promise.all([one, two].map(({ registry }) => registry.refresh()));
    await one.registry.refresh();
    for (const { registry, textOf } of [one, two]) {
      expect(registry.epoch).toBe(epoch);
      expect(textOf('key/a')).toBe(key('2026-11-20'));
      expect(textOf('key/b')).toBe(key(null));
      expect(textOf('team-life/x')).toBe('{"life":2}');
      expect(textOf('team/gone')).toBeUndefined();
      expect(registry.lastLoss).toMatchObject({ outcome: 'adopted' });
      expect(registry.loss).toBeNull();
    }
    expect(another).toEqual([epoch]);
    expect([one.outcomes, two.outcomes]).toEqual([['adopted'], ['adopted']]);
    expect(one.log.messages('error')).toEqual([expect.stringContaining('another registry; it was adopted')]);
    expect(await auditOf(one.store)).toMatchObject([
      { action: 'registry.adopt', after: { epoch, carriedOver: ['key/a', 'team-life/x'] } },
    ]);
  });

  it('that merely began anew is not taken over, and what is known can be put in its place', async () => {
    const one = await openOne();
    await one.registry.commit(set({ 'team/x': '{}', 'key/a': key('2026-11-20') }));
    await put({ 'meta/schema': '1' });
    await expect(one.registry.refresh()).rejects.toThrow(/neither teams nor keys.*registry import/s);
    expect(one.textOf('team/x')).toBe('{}');
    expect(one.outcomes).toEqual(['left']);
    await one.registry.recreate(set({}));
    expect((await one.store.registry.load('leave')).records.get('key/a')?.value).toBe(key('2026-11-20'));
    expect(one.textOf('key/a')).toBe(key('2026-11-20'));
    expect(one.registry.loss).toBeNull();
  });

  it('that is sealed under another master key is not taken over', async () => {
    const one = await openOne();
    await one.registry.commit(set({ 'team/x': '{}' }));
    const foreign = createSealer(fixedSecret('GATEWAY_MASTER_KEY', randomBytes(32).toString('base64')));
    await put({ 'team/x': '{}', 'meta/pepper': foreign.seal(randomBytes(32), 'meta/pepper') });
    await expect(one.registry.refresh()).rejects.toThrow(/GATEWAY_MASTER_KEY does not open it/);
    expect(one.textOf('team/x')).toBe('{}');
  });
});
