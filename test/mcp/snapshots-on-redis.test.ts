/** A cursor on a shared Redis: given by one replica, taken by another. */
import { expect, it } from 'vitest';
import { completeTeam } from '../../src/auth/team.js';
import { createClock } from '../../src/clock.js';
import { pagesOf } from '../../src/mcp/fit.js';
import { createSnapshots } from '../../src/mcp/snapshots.js';
import { openOnRedis } from '../support/on-redis.js';
import { startRedis } from '../support/redis.js';

it('is taken by any replica, and ends where the cache has lost its page', async () => {
  const redis = await startRedis();
  const clock = createClock();
  const [one, other] = [await openOnRedis(redis, 'walk'), await openOnRedis(redis, 'walk')];
  const [given, taken] = [one, other].map((store) => createSnapshots({ store, clock }));
  const team = completeTeam({ id: 'walkers', scopes: ['mcp'], advertisers: '*' });
  const table = { about: {}, columns: ['at'], rows: Array.from({ length: 25 }, (_, at) => [at]) };
  const pages = pagesOf(table, { maxRows: 10, maxBytes: 40_000 });
  let text = (await given?.keep(team, 'query_report', pages, 25)) as string;
  const rows: unknown[] = [];
  for (;;) {
    const { next, rows: more } = JSON.parse(text) as { next: string | null; rows: number[][] };
    rows.push(...more.flat());
    if (next === null) break;
    text = (await taken?.read(team, 'query_report', next)) as string;
  }
  expect(rows).toEqual(table.rows.flat());
  const { next } = JSON.parse((await given?.keep(team, 'query_report', pages, 25)) as string) as {
    next: string;
  };
  const [id = '', page = ''] = next.split('.');
  await one.cache.remove([{ series: `mcp:walkers:${id}`, group: 'pages', field: page }]);
  await expect(taken?.read(team, 'query_report', next)).rejects.toMatchObject({ code: 'cursor_expired' });
});
