/** What operators and the platform do meanwhile, by the seed. */
import { issue, revoke } from '../../src/api/admin/keys.js';
import { addTeam, editTeam } from '../../src/api/admin/teams.js';
import { GatewayError } from '../../src/errors.js';
import type { NewTeam } from '../../src/teams/auth/team.js';
import { auditLine } from '../../src/telemetry/audit.js';
import type { Change } from './oracle.js';
import type { Replica } from './replicas.js';
import { Killed } from './scheduler.js';
import { teamsOf } from './shape.js';
import { ADVERTISERS, DAYS_BACK, dayAgo } from './sim-platform.js';
import { anyReplica, lapse, type WorldOfSeed } from './world.js';
import { GUARD } from './writes.js';

const OPERATOR = { name: 'operator', address: null };

/** Makes a change, and notes whether it was acknowledged. */
async function change(world: WorldOfSeed, replica: Replica, made: Change, work: () => Promise<unknown>) {
  const { scheduler } = world;
  try {
    await scheduler.begin(replica.owner, work);
    if (!world.isLossy) made.doneMs = scheduler.nowMs;
    return true;
  } catch (error) {
    // Whether it was made is not known, or it was refused.
    if (error instanceof Killed || error instanceof GatewayError) return false;
    if (['StoreUnavailable', 'RegistryConflict'].includes((error as Error).name)) return false;
    throw error;
  }
}

export async function newTeam(
  world: WorldOfSeed,
  replica: Replica,
  id: string,
  advertisers: readonly number[] | '*',
) {
  const { scheduler, oracle } = world;
  const { services } = replica;
  const made = { byReplica: replica.name, askedMs: scheduler.nowMs, doneMs: null, advertisers };
  oracle.policies.set(id, [made]);
  const team: NewTeam = {
    id,
    advertisers: advertisers === '*' ? '*' : [...advertisers],
    scopes: ['report:read', 'report:pin', 'cache:refresh', 'platform:read', 'platform:write'],
    limits: { requestsPerMinute: 1_000_000, maxConcurrent: 10_000 },
    ...(id === 'spends' ? { writeGuard: GUARD } : {}),
  };
  // Where the team is there already, because a change of unknown outcome was made, it lacks a key alone.
  await change(world, replica, made, () => addTeam(team, OPERATOR, services));
  await newKey(world, id, replica);
}

async function newKey(world: WorldOfSeed, teamId: string, replica: Replica): Promise<void> {
  const { scheduler, keys } = world;
  const made: Change = { byReplica: replica.name, askedMs: scheduler.nowMs, doneMs: null };
  await change(world, replica, made, async () => {
    const { key, text } = await issue({ teamId, label: 'more', expiresAt: null }, OPERATOR, replica.services);
    keys.push({ id: key.id, text, team: teamId });
  });
}

/** Changes teams, keys, purges, and the token, until then. */
export async function operator(world: WorldOfSeed, untilMs: number): Promise<void> {
  const { scheduler, chance, keys } = world;
  while (scheduler.nowMs < untilMs) {
    await lapse(world, chance.between(200, 1_500));
    const replica = await anyReplica(world);
    if (keys.length < teamsOf(world.shape).length) continue;
    await chance.pick([purge, purge, narrow, narrow, revokeKey, rotate])(world, replica);
  }
}

async function purge(world: WorldOfSeed, replica: Replica): Promise<void> {
  const { scheduler, chance, oracle } = world;
  const advertiser = chance.is(0.3) ? null : chance.pick(ADVERTISERS);
  const made = { byReplica: replica.name, askedMs: scheduler.nowMs, doneMs: null, advertiser };
  oracle.purges.push(made);
  const scope = advertiser === null ? {} : { advertiserId: String(advertiser) };
  const line = auditLine({ action: 'cache.purge', subject: 'cache' }, OPERATOR, scheduler.trueMs());
  await change(world, replica, made, () => replica.services.purges.append(scope, line));
}

/** Another policy for a team that is not allowed everything. */
async function narrow(world: WorldOfSeed, replica: Replica): Promise<void> {
  const { scheduler, chance, oracle } = world;
  const id = chance.pick(['one', 'two']);
  const advertisers = chance.pick([[1], [2], [1, 2]]);
  const made = { byReplica: replica.name, askedMs: scheduler.nowMs, doneMs: null, advertisers };
  oracle.policies.get(id)?.push(made);
  await change(world, replica, made, () =>
    editTeam(id, { advertisers: [...advertisers] }, OPERATOR, replica.services),
  );
}

async function revokeKey(world: WorldOfSeed, replica: Replica): Promise<void> {
  const { scheduler, chance, oracle, keys } = world;
  if (chance.is(0.5)) return newKey(world, chance.pick(['one', 'two', 'all']), replica);
  const spare = keys.slice(teamsOf(world.shape).length).filter(({ text }) => !oracle.revoked.has(text));
  if (spare.length === 0) return;
  const { id, text } = chance.pick(spare);
  const made: Change = { byReplica: replica.name, askedMs: scheduler.nowMs, doneMs: null };
  oracle.revoked.set(text, made);
  await change(world, replica, made, () => revoke(id, OPERATOR, replica.services));
}

async function rotate(world: WorldOfSeed, replica: Replica): Promise<void> {
  const { scheduler, platform, chance, isLossy } = world;
  const secret = platform.issueToken();
  const made: Change = { byReplica: replica.name, askedMs: scheduler.nowMs, doneMs: null };
  const token = { secret, source: 'manual', expiresAt: null } as const;
  const rotation = { fromMs: scheduler.nowMs, untilMs: Number.POSITIVE_INFINITY };
  world.rotations.push(rotation);
  const done = await change(world, replica, made, () =>
    replica.services.rotation.rotate(token as never, true, OPERATOR),
  );
  rotation.untilMs = scheduler.nowMs;
  // A registry that is lost takes the token with it, and the first one is taken again.
  if (!done || isLossy || world.shape.end === 'lost-registry') return;
  await lapse(world, chance.between(2_000, 4_000));
  if (replica.services.keeper.vault().active?.secret === secret) platform.refuseOthers(secret);
}

/** The platform's numbers change now and then, those of late days most. */
export async function restating(world: WorldOfSeed, untilMs: number): Promise<void> {
  const { scheduler, chance, platform } = world;
  while (scheduler.nowMs < untilMs) {
    await lapse(world, chance.between(100, 1_000));
    const ago = chance.is(0.5) ? 0 : chance.between(0, DAYS_BACK);
    const [advertiser, day] = [chance.pick(ADVERTISERS), dayAgo(scheduler.trueMs(), ago)];
    // What an outage has taken is seldom there again soon.
    if (world.shape.night !== null && chance.is(0.7)) continue;
    // An outage at times: what was there is not any more.
    if (chance.is(0.1)) platform.unsay(advertiser, day);
    else platform.restate(advertiser, day);
  }
}
