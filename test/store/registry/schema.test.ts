import { describe, expect, it } from 'vitest';
import { StoreRefused } from '../../../src/store/refused.js';
import {
  MIGRATIONS,
  type Migration,
  migrateRecords,
  migrateRegistry,
  SCHEMA_RECORD,
} from '../../../src/store/registry/schema.js';
import type { AuditRecord } from '../../../src/telemetry/audit.js';
import { openInMemory, openReplica, withoutBus } from '../../support/shared-registry.js';

/** Form 2 names teams in capitals; form 3 forgets the ones that are called so in vain. */
const LOUD: readonly Migration[] = [
  () => new Map(),
  (records) => new Map([...records].map(([id, text]) => [id, text.toUpperCase()])),
  (records) => new Map([...records].flatMap(([id, text]) => (text === 'VAIN' ? [[id, null] as const] : []))),
];

const set = (records: Record<string, string>) => ({ writes: new Map(Object.entries(records)) });
type Replica = Awaited<ReturnType<typeof openReplica>>;
const textsOf = ({ registry }: Replica) =>
  Object.fromEntries(registry.list('').map(([id, { value }]) => [id, value]));
const migrate = ({ registry, clock, log }: Replica, migrations?: readonly Migration[]) =>
  migrateRegistry(registry, clock, log.logger, migrations);

describe('the form of the records', () => {
  it('is written into a new registry, quietly', async () => {
    const replica = await openReplica(withoutBus(await openInMemory()));
    await migrate(replica);
    expect(textsOf(replica)).toEqual({ [SCHEMA_RECORD]: String(MIGRATIONS.length) });
    expect(await replica.store.registry.readAudit(10)).toEqual([]);
    const { version } = replica.registry;
    await migrate(replica);
    expect(replica.registry.version).toBe(version);
  });

  it('is taken to be the first where none is written, and nothing else changes', async () => {
    const replica = await openReplica(withoutBus(await openInMemory()));
    await replica.registry.commit(set({ 'team/a': 'quiet' }));
    await migrate(replica);
    expect(textsOf(replica)).toEqual({ 'team/a': 'quiet', [SCHEMA_RECORD]: '1' });
  });

  it('is brought up step by step, in one audited commit', async () => {
    const replica = await openReplica(withoutBus(await openInMemory()));
    await replica.registry.commit(set({ 'team/a': 'quiet', 'team/b': 'vain', [SCHEMA_RECORD]: '1' }));
    await replica.registry.refresh();
    const { version } = replica.registry;
    await migrate(replica, LOUD);
    await replica.registry.refresh();
    expect(textsOf(replica)).toEqual({ 'team/a': 'QUIET', [SCHEMA_RECORD]: '3' });
    expect(replica.registry.version).toBe(version + 1);
    const [line] = await replica.store.registry.readAudit(10);
    expect(JSON.parse(line?.text ?? '') as AuditRecord).toMatchObject({
      action: 'registry.migrate',
      actor: 'gateway',
      before: 1,
      after: 3,
    });
  });

  it('is brought up once by replicas that start together', async () => {
    const store = withoutBus(await openInMemory());
    const replicas = await Promise.all([1, 2, 3].map(() => openReplica(store)));
    await replicas[0]?.registry.commit(set({ 'team/a': 'quiet' }));
    for (const { registry } of replicas) await registry.refresh();
    await Promise.all(replicas.map((replica) => migrate(replica, LOUD)));
    expect(await store.registry.readAudit(10)).toHaveLength(1);
    for (const replica of replicas) {
      await replica.registry.refresh();
      expect(textsOf(replica)).toEqual({ 'team/a': 'QUIET', [SCHEMA_RECORD]: '3' });
    }
  });

  it('of a newer release stops the start, and nothing is changed', async () => {
    const replica = await openReplica(withoutBus(await openInMemory()));
    await replica.registry.commit(set({ 'team/a': 'quiet', [SCHEMA_RECORD]: '4' }));
    await expect(migrate(replica, LOUD)).rejects.toThrow(StoreRefused);
    await expect(migrate(replica, LOUD)).rejects.toThrow('its records have form 4, this release knows 3');
    expect(textsOf(replica)).toEqual({ 'team/a': 'quiet', [SCHEMA_RECORD]: '4' });
    expect(() => migrateRecords(new Map(), 4, LOUD)).toThrow(StoreRefused);
  });
});
