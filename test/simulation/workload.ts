/** What callers and operators do meanwhile, by the seed: each of them one thing after the other. */
import inject from 'light-my-request';
import { createTeamKeys } from '../../src/admin/team-keys.js';
import { createTeamRecords } from '../../src/admin/team-records.js';
import type { NewTeam } from '../../src/auth/team.js';
import { GatewayError, toProblem } from '../../src/errors.js';
import { auditLine } from '../../src/telemetry/audit.js';
import { createTrace } from '../../src/telemetry/trace.js';
import { REPORT, type ReportBody } from '../support/start-gateway.js';
import type { Chance } from './chance-of-seed.js';
import type { Asked, Change, Given, Oracle } from './oracle.js';
import type { Replica } from './replicas.js';
import type { Scheduler } from './scheduler.js';
import { ADVERTISERS, DAYS_BACK, dayAgo, type SimPlatform } from './sim-platform.js';

export interface WorldOfSeed {
  readonly scheduler: Scheduler;
  readonly chance: Chance;
  readonly platform: SimPlatform;
  readonly oracle: Oracle;
  /** Those that serve now. */
  readonly replicas: Map<string, Replica>;
  /** A key of each team, and more. */
  readonly keys: { readonly id: string; readonly text: string; readonly team: string }[];
  /** Whether what was acknowledged may be lost: the store fails over, or is emptied. */
  readonly isLossy: boolean;
}

const OPERATOR = { name: 'operator', address: null };

export async function askAt(world: WorldOfSeed, asked: Asked, replica: Replica): Promise<void> {
  const { scheduler, oracle } = world;
  const given = await scheduler.begin(replica.name, () => give(asked, replica));
  scheduler.note(
    `given ${asked.replica} ${asked.advertiser} ${given.status} ${given.code} ${given.cacheStatus}`,
  );
  try {
    oracle.judge(asked, given);
  } catch (error) {
    const { message } = error as Error;
    throw new Error(`${message}\n${JSON.stringify(asked)}\n${JSON.stringify(given)} at ${scheduler.nowMs}`);
  }
}

async function give(asked: Asked, { services, data }: Replica): Promise<Given> {
  const { advertiser, from, to, byDate, days, directive } = asked;
  const query = `advertiserId=${advertiser}&dateFrom=${from}&dateTo=${to}${byDate ? '&byDate=1' : ''}${days ? '&_days=1' : ''}`;
  const cacheControl = directive ?? undefined;
  if (data !== null) {
    const headers = { 'x-api-key': asked.key, ...(directive === null ? {} : { 'cache-control': directive }) };
    // By way of the server, as from a socket: the path gate stands in front of Fastify.
    const {
      statusCode,
      payload,
      headers: shown,
    } = await inject((request, response) => void data.server.emit('request', request, response), {
      method: 'GET',
      url: `${REPORT}?${query}`,
      headers,
    });
    const body: unknown = JSON.parse(payload);
    const problem = statusCode === 200 ? null : (body as { readonly code?: string });
    return {
      ...{
        status: statusCode,
        code: problem?.code ?? null,
        body: problem === null ? (body as ReportBody) : null,
      },
      cacheStatus: String(shown['cache-status'] ?? ''),
    };
  }
  try {
    const reply = await services.gateway.report({
      ...{ id: 'simulated', method: 'GET', target: `${REPORT}?${query}`, endpoint: 'campaigns/get', query },
      ...{ readBody: null, keys: { authorization: [], apiKey: [asked.key] }, address: '127.0.0.1' },
      ...{ accept: undefined, acceptEncoding: undefined, cacheControl, ifNoneMatch: undefined },
      trace: createTrace(),
      onResponseClosed: (leave) => leave(),
    });
    const body = JSON.parse(Buffer.concat([...(reply.body ?? [])]).toString()) as ReportBody;
    return { status: reply.status, code: null, cacheStatus: reply.headers['cache-status'] ?? '', body };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { status, code } = toProblem(error, 'simulated');
    return { status, code, cacheStatus: '', body: null };
  }
}

/** @returns a question at random, for one who asks now */
export function question({ chance, scheduler, keys }: WorldOfSeed, replica: Replica): Asked {
  const key = chance.pick(keys);
  const [ago, length] = [chance.between(0, DAYS_BACK), chance.between(0, 4)];
  return {
    ...{ replica: replica.name, team: key.team, key: key.text, atMs: scheduler.nowMs },
    advertiser: chance.pick(ADVERTISERS),
    from: dayAgo(scheduler.wallMs(), ago),
    to: dayAgo(scheduler.wallMs(), Math.max(0, ago - length)),
    byDate: chance.is(0.8),
    days: chance.is(0.6),
    directive: chance.is(0.1) ? 'no-cache' : null,
  };
}

/** Asks for reports until then. */
export async function caller(world: WorldOfSeed, untilMs: number): Promise<void> {
  const { scheduler, chance, replicas } = world;
  // A caller comes back with the same questions.
  const favourites: Asked[] = [];
  while (scheduler.nowMs < untilMs) {
    await lapse(world, chance.is(0.3) ? chance.between(0, 5) : chance.between(20, 900));
    const replica = chance.pick([...replicas.values()]);
    if (favourites.length < 3) favourites.push(question(world, replica));
    const fresh = chance.is(0.5) ? question(world, replica) : chance.pick(favourites);
    await askAt(world, { ...fresh, replica: replica.name, atMs: scheduler.nowMs }, replica);
  }
}

const lapse = ({ scheduler }: WorldOfSeed, ms: number) =>
  new Promise<void>((resolve) => void scheduler.after(ms, 'world', resolve));

/** Makes a change, and notes whether it was acknowledged. */
async function change(world: WorldOfSeed, replica: Replica, made: Change, work: () => Promise<unknown>) {
  const { scheduler } = world;
  try {
    await scheduler.begin(replica.name, work);
    if (!world.isLossy) made.doneMs = scheduler.nowMs;
    return true;
  } catch (error) {
    // Whether it was made is not known, or it was refused.
    if (error instanceof GatewayError || (error as Error).name === 'StoreUnavailable') return false;
    if ((error as Error).name === 'RegistryConflict') return false;
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
    ...{ id, advertisers: advertisers === '*' ? '*' : [...advertisers] },
    scopes: ['report:read', 'cache:refresh', 'platform:write'],
    limits: { requestsPerMinute: 1_000_000, maxConcurrent: 10_000 },
  };
  if (!(await change(world, replica, made, () => createTeamRecords(services).create(team, OPERATOR)))) return;
  await newKey(world, id, replica);
}

async function newKey(world: WorldOfSeed, teamId: string, replica: Replica): Promise<void> {
  const { scheduler, keys } = world;
  const made: Change = { byReplica: replica.name, askedMs: scheduler.nowMs, doneMs: null };
  await change(world, replica, made, async () => {
    const { key, text } = await createTeamKeys(replica.services).issue(
      { teamId, label: 'more', expiresAt: null },
      OPERATOR,
    );
    keys.push({ id: key.id, text, team: teamId });
  });
}

/** Changes teams, keys, purges, and the token, until then. */
export async function operator(world: WorldOfSeed, untilMs: number): Promise<void> {
  const { scheduler, chance, replicas } = world;
  while (scheduler.nowMs < untilMs) {
    await lapse(world, chance.between(300, 3_000));
    const replica = chance.pick([...replicas.values()]);
    await chance.pick([purge, purge, narrow, narrow, revokeKey, rotate])(world, replica);
  }
}

async function purge(world: WorldOfSeed, replica: Replica): Promise<void> {
  const { scheduler, chance, oracle } = world;
  const advertiser = chance.is(0.3) ? null : chance.pick(ADVERTISERS);
  const made = { byReplica: replica.name, askedMs: scheduler.nowMs, doneMs: null, advertiser };
  oracle.purges.push(made);
  const scope = advertiser === null ? {} : { advertiserId: String(advertiser) };
  const line = auditLine({ action: 'cache.purge', subject: 'cache' }, OPERATOR, scheduler.wallMs());
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
    createTeamRecords(replica.services).change(id, { advertisers: [...advertisers] }, OPERATOR),
  );
}

async function revokeKey(world: WorldOfSeed, replica: Replica): Promise<void> {
  const { scheduler, chance, oracle, keys } = world;
  if (chance.is(0.5)) return newKey(world, chance.pick(['one', 'two', 'all']), replica);
  const spare = keys.slice(3).filter(({ text }) => !oracle.revoked.has(text));
  if (spare.length === 0) return;
  const { id, text } = chance.pick(spare);
  const made: Change = { byReplica: replica.name, askedMs: scheduler.nowMs, doneMs: null };
  oracle.revoked.set(text, made);
  await change(world, replica, made, () => createTeamKeys(replica.services).revoke(id, OPERATOR));
}

async function rotate(world: WorldOfSeed, replica: Replica): Promise<void> {
  const { scheduler, platform, chance, isLossy } = world;
  const secret = platform.issueToken();
  const made: Change = { byReplica: replica.name, askedMs: scheduler.nowMs, doneMs: null };
  const token = { secret, source: 'manual', expiresAt: null } as const;
  const done = await change(world, replica, made, () =>
    replica.services.rotation.rotate(token as never, true, OPERATOR),
  );
  if (!done || isLossy) return;
  await lapse(world, chance.between(2_000, 4_000));
  if (replica.services.keeper.vault().active?.secret === secret) platform.refuseOthers(secret);
}

/** The platform's numbers change now and then, those of late days most. */
export async function restating(world: WorldOfSeed, untilMs: number): Promise<void> {
  const { scheduler, chance, platform } = world;
  while (scheduler.nowMs < untilMs) {
    await lapse(world, chance.between(100, 2_000));
    const ago = chance.is(0.5) ? 0 : chance.between(0, DAYS_BACK);
    platform.restate(chance.pick(ADVERTISERS), dayAgo(scheduler.wallMs(), ago));
  }
}
