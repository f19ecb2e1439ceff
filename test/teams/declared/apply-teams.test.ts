/** Applying a file to a real registry: replicas that start together, and somebody who changes a team meanwhile. */
import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { RegistryConflict, type Store } from '../../../src/store/port.js';
import { createDirectory, TEAM_PREFIX } from '../../../src/teams/auth/directory.js';
import { completeTeam, type NewTeam } from '../../../src/teams/auth/team.js';
import { type ApplyOptions, applyTeams } from '../../../src/teams/declared/apply-teams.js';
import type { TeamChange } from '../../../src/teams/declared/plan-teams.js';
import type { Actor, AuditRecord } from '../../../src/telemetry/audit.js';
import { openEmbedded, openReplica, withoutBus } from '../../support/shared-registry.js';

const ACTOR: Actor = { name: 'ops', address: '192.0.2.1' };
const PEPPER = randomBytes(32);

async function replicaOf(store: Store): Promise<ApplyOptions> {
  const { registry, clock } = await openReplica(store);
  return { registry, clock, directory: createDirectory(registry, () => PEPPER) };
}
const declaration = (teams: NewTeam[]) => ({ teams, removed: 'keep' as const, dryRun: false });
const actions = (changes: readonly TeamChange[]) => changes.map(({ id, action }) => `${action} ${id}`);
const auditOf = async (store: Store): Promise<AuditRecord[]> =>
  (await store.registry.readAudit(100)).map(({ text }) => JSON.parse(text) as AuditRecord);

it('replicas that apply the same file at once make each team once, and none of them fails', async () => {
  // Without messages, so that none of them knows of the others until its commit is refused.
  const store = withoutBus(await openEmbedded());
  const replicas = await Promise.all([1, 2, 3].map(() => replicaOf(store)));
  const file = declaration([{ id: 'one', advertisers: [1] }, { id: 'two' }]);
  const done = await Promise.all(replicas.map((replica) => applyTeams(replica, file, ACTOR)));
  const sorted = done.map(actions).sort();
  expect(sorted).toEqual([
    ['create one', 'create two'],
    ['none one', 'none two'],
    ['none one', 'none two'],
  ]);
  const audit = await auditOf(store);
  expect(audit.map(({ action, subject }) => `${action} ${subject}`).sort()).toEqual([
    'team.create one',
    'team.create two',
  ]);
  expect(audit[0]).toMatchObject({ actor: 'ops', address: '192.0.2.1', after: { managedBy: 'file' } });
});

it('a team that was changed meanwhile is planned anew, not written over unseen', async () => {
  const store = withoutBus(await openEmbedded());
  const [mine, other] = [await replicaOf(store), await replicaOf(store)];
  const hand = completeTeam({ id: 'growth', advertisers: [9] });
  await other.registry.commit({ writes: new Map([[`${TEAM_PREFIX}growth`, JSON.stringify(hand)]]) });
  const changes = await applyTeams(mine, declaration([{ id: 'growth', advertisers: [1] }]), ACTOR);
  // Its present state is what the audit shows as the state before.
  expect(changes).toMatchObject([
    { action: 'update', before: { advertisers: [9] }, after: { advertisers: [1] } },
  ]);
  expect((await auditOf(store))[0]).toMatchObject({ action: 'team.update', before: { advertisers: [9] } });
});

it('nothing of a file is applied when one team cannot be', async () => {
  const store = await openEmbedded();
  const replica = await replicaOf(store);
  let tries = 0;
  const registry = {
    ...replica.registry,
    commit: async () => {
      tries += 1;
      throw new RegistryConflict('team/two');
    },
  };
  const file = declaration([{ id: 'one' }, { id: 'two' }]);
  await expect(applyTeams({ ...replica, registry }, file, ACTOR)).rejects.toMatchObject({ code: 'conflict' });
  expect(tries).toBe(5);
  expect(replica.directory.teams()).toEqual([]);
  expect(await auditOf(store)).toEqual([]);
});

it('a dry run writes nothing', async () => {
  const store = await openEmbedded();
  const replica = await replicaOf(store);
  const changes = await applyTeams(replica, { ...declaration([{ id: 'one' }]), dryRun: true }, ACTOR);
  expect(actions(changes)).toEqual(['create one']);
  expect(replica.directory.teams()).toEqual([]);
  expect(await auditOf(store)).toEqual([]);
});
