/** Three writers of the same counters on a real Redis that stops, resumes and answers too late. */
import { expect, it, onTestFinished } from 'vitest';
import { classify } from '../../../src/outcome.js';
import { createSeries } from '../../../src/teams/series/create-series.js';
import { endedRequest } from '../../support/ended-request.js';
import { openOnRedis } from '../../support/on-redis.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { startRedis } from '../../support/redis.js';
import { createTestClock } from '../../support/test-clock.js';

const TRAFFIC = { budget: { queued: 0 }, pace: { status: () => null } };
const hitOf = (team: string) => classify(endedRequest({ team, tier: 'store' }), 200);
const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);

it('three processes count each request once, whatever Redis leaves unanswered', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const clock = createTestClock();
  const { logger } = createRecordedLog();
  // Commands that are given up are in Redis' socket all the same, and are carried out when it goes on.
  const stores = await Promise.all([0, 1, 2].map(() => openOnRedis(redis, 'series', 100)));
  const all = stores.map((store) =>
    createSeries({ counters: store.counters, clock, logger, traffic: TRAFFIC }),
  );
  onTestFinished(async () => void (await Promise.all(all.map((series) => series.close()))));
  const count = () => {
    for (const series of all) for (const team of ['growth', 'media']) series.add(hitOf(team), 3);
  };
  let rounds = 0;
  let unknown = 0;
  for (let round = 0; round < 12; round += 1) {
    count();
    rounds += 1;
    const flushes = all.map((series) => series.flush());
    if (round % 3 === 1) redis.pause();
    const taken = await Promise.all(flushes);
    unknown += taken.filter((is) => !is).length;
    redis.resume();
    await expect.poll(() => stores.every((store) => store.health().ok), { timeout: 30_000 }).toBe(true);
  }
  expect(unknown).toBeGreaterThan(0);
  await expect
    .poll(async () => (await Promise.all(all.map((series) => series.flush()))).every(Boolean), {
      timeout: 30_000,
    })
    .toBe(true);
  const reader = await openOnRedis(redis, 'series');
  const series = createSeries({ counters: reader.counters, clock, logger, traffic: TRAFFIC });
  onTestFinished(() => series.close());
  const requests = async (team: string) =>
    sum((await series.read('24h', { id: team, callsPerDay: null, lives: 'all' })).series.requests);
  expect(await requests('growth')).toBe(3 * rounds);
  expect(await requests('media')).toBe(3 * rounds);
  expect(sum((await series.read('1h', null)).series.requests)).toBe(6 * rounds);
  expect((await series.ledger('1h', () => undefined)).teams.map(({ id }) => id)).toEqual(['growth', 'media']);
});
