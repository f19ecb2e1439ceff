/** Walks on a shared Redis: given by one replica, taken by another, many at once, and gone when they are over. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createSnapshots } from '../../../src/api/mcp/snapshots.js';
import { createClock } from '../../../src/lib/clock.js';
import { packTable } from '../../../src/reports/tables/pack.js';
import type { Store } from '../../../src/store/port.js';
import { completeTeam } from '../../../src/teams/auth/team.js';
import { openOnRedis } from '../../support/on-redis.js';
import { type RedisServer, startRedis } from '../../support/redis.js';

const CAPS = { maxRows: 10, maxBytes: 40_000 };
const TABLE = {
  about: {},
  columns: ['at'],
  rowCount: 25,
  rows: Array.from({ length: 25 }, (_, at) => [at]),
};

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.close());

interface Given {
  readonly next: string | null;
  readonly rows: readonly (readonly number[])[];
}

const teamOf = (id: string) => ({ team: completeTeam({ id, scopes: ['mcp'], advertisers: '*' }), key: {} });

function replicaOn(store: Store, team = teamOf('walkers')) {
  const snapshots = createSnapshots({
    ...{ store, clock: createClock(), purges: { seq: 0 } },
    isErasedSince: () => false,
  });
  return {
    async give(of = team): Promise<Given> {
      const walk = randomBytes(16).toString('base64url');
      const packed = packTable(TABLE, { caps: CAPS, walk });
      return JSON.parse(await snapshots.keep(of, 'query_report', walk, packed, snapshots.begin())) as Given;
    },
    async take({ next }: Pick<Given, 'next'>, of = team): Promise<Given> {
      return JSON.parse(await snapshots.read(of, 'query_report', next ?? '')) as Given;
    },
  };
}

it('is taken by any replica, and ends where the cache has lost its page', async () => {
  const [one, other] = [await openOnRedis(redis, 'walk'), await openOnRedis(redis, 'walk')];
  const [given, taken] = [replicaOn(one), replicaOn(other)];
  let page = await given.give();
  const rows: unknown[] = [];
  for (;;) {
    rows.push(...page.rows.flat());
    if (page.next === null) break;
    page = await taken.take(page);
  }
  expect(rows).toEqual(TABLE.rows.flat());
  const lost = await given.give();
  const [id = '', field = ''] = (lost.next as string).split('.');
  await one.cache.remove([{ series: `mcp:walkers:${id}`, group: 'pages', field }]);
  await expect(taken.take(lost)).rejects.toMatchObject({ code: 'cursor_expired' });
});

it('has a cursor each where 200 begin at once, on two replicas', async () => {
  const replicas = [
    replicaOn(await openOnRedis(redis, 'many')),
    replicaOn(await openOnRedis(redis, 'many')),
  ] as const;
  const teams = Array.from({ length: 200 }, (_, at) => teamOf(`team-${at % 10}`));
  const given = await Promise.all(teams.map((team, at) => replicas[at % 2 === 0 ? 0 : 1].give(team)));
  expect(given.filter(({ next }) => next === null)).toEqual([]);
  const taken = await Promise.all(
    given.map((page, at) => replicas[at % 2 === 0 ? 1 : 0].take(page, teams[at])),
  );
  expect(taken.map(({ rows }) => rows.length)).toEqual(given.map(() => 10));
});

it('leaves nothing in the store when it is pushed out', async () => {
  const store = await openOnRedis(redis, 'out');
  const replica = replicaOn(store);
  const walks: Given[] = [];
  for (let at = 0; at < 21; at += 1) walks.push(await replica.give());
  const pages = await Promise.all(
    walks.map(async ({ next }) => {
      const [id = ''] = (next as string).split('.');
      const places = ['1', '2'].map((field) => ({ series: `mcp:walkers:${id}`, group: 'pages', field }));
      return (await store.cache.read(places)).map((entry) => entry !== null);
    }),
  );
  expect(pages).toEqual([[false, false], ...Array.from({ length: 20 }, () => [true, true])]);
});
