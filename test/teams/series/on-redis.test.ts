/** Three writers of the same counters on a real Redis that stops, resumes and answers too late. */
import { expect, it, onTestFinished } from 'vitest';
import { classify } from '../../../src/outcome.js';
import { createSeries } from '../../../src/teams/series/create-series.js';
import { endedRequest } from '../../support/ended-request.js';
import { openOnRedis } from '../../support/on-redis.js';
import { startRedis } from '../../support/redis.js';
import { createTestClock } from '../../support/test-clock.js';
import { openTally } from '../tally/open-tally.js';

const hitOf = (team: string) => classify(endedRequest({ team, tier: 'store' }), 200, '/api/');
const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);

it('three processes count each request once, whatever Redis leaves unanswered', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const clock = createTestClock();
  // Commands that are given up are in Redis' socket all the same, and are carried out when it goes on.
  const stores = await Promise.all([0, 1, 2].map(() => openOnRedis(redis, 'series', 100)));
  const all = stores.map(({ counters }) => openTally({ counters, clock }));
  const count = () => {
    for (const tally of all) for (const team of ['growth', 'media']) tally.add(hitOf(team), 3);
  };
  let rounds = 0;
  let unknown = 0;
  for (let round = 0; round < 12; round += 1) {
    count();
    rounds += 1;
    const flushes = all.map((tally) => tally.flush());
    if (round % 3 === 1) redis.pause();
    const taken = await Promise.all(flushes);
    unknown += taken.filter((is) => !is).length;
    redis.resume();
    await expect.poll(() => stores.every((store) => store.health().ok), { timeout: 30_000 }).toBe(true);
  }
  expect(unknown).toBeGreaterThan(0);
  await expect
    .poll(async () => (await Promise.all(all.map((tally) => tally.flush()))).every(Boolean), {
      timeout: 30_000,
    })
    .toBe(true);
  const reader = await openOnRedis(redis, 'series');
  const series = createSeries(openTally({ counters: reader.counters, clock }), clock);
  const requests = async (team: string) =>
    sum((await series.read('24h', { id: team, callsPerDay: null, lives: 'all' })).series.requests);
  expect(await requests('growth')).toBe(3 * rounds);
  expect(await requests('media')).toBe(3 * rounds);
  expect(sum((await series.read('1h', null)).series.requests)).toBe(6 * rounds);
  expect((await series.ledger('1h', () => undefined)).teams.map(({ id }) => id)).toEqual(['growth', 'media']);
});
