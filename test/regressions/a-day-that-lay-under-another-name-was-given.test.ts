/** What lay in the store where another entry belongs, as after a rename or a wrong restore, was given for that entry. */
import type { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { dayKey } from '../../src/reports/query/keys.js';
import { createKeys } from '../../src/store/redis/keys.js';
import { ALWAYS, byDay } from '../reports/fetch/by-day.js';
import { openStore, startServer, withControl } from '../store/redis/open-store.js';
import { gatewayAt, reportIn, withGateway } from '../support/start-gateway.js';
import { createTestClock } from '../support/test-clock.js';

const [FIRST, SECOND] = ['2026-11-02', '2026-11-03'] as const;
const queryOf = (advertiser: string) => byDay(FIRST, SECOND).replace('Id=1', `Id=${advertiser}`);

/** The hashes of a month of the advertisers 1 and 2. */
type Displace = (control: Redis, first: string, second: string) => Promise<unknown>;

it.each<[string, Displace]>([
  [
    'of another day',
    async (control, first) => {
      const names = ['h:02', 'd:02', 'h:03', 'd:03'] as const;
      const [head, body, otherHead, otherBody] = await control.hmgetBuffer(first, ...names);
      const swapped = { 'h:02': otherHead, 'd:02': otherBody, 'h:03': head, 'd:03': body };
      await control.hset(first, swapped as Record<string, Buffer>);
    },
  ],
  ['of another account', (control, first, second) => control.rename(second, first)],
])('an entry %s is fetched anew, not given', async (_whose, displace) => {
  const { url } = await startServer();
  const clock = createTestClock();
  const patient = { timeoutMs: 10_000, registryTimeoutMs: 10_000 };
  const { store } = await openStore(url, { clock, ...patient });
  onTestFinished(() => store.close());
  const writer = await withGateway({ config: ALWAYS, clock, sharedStore: store });
  const key = await writer.addTeam();
  const asked: Record<string, { readonly rows: readonly unknown[]; readonly hash: string }> = {};
  for (const advertiser of ['1', '2']) {
    const { data } = reportIn(await writer.report(key, queryOf(advertiser)));
    const { series } = await writer.services.reporting.explain('campaigns/get', queryOf(advertiser));
    const place = dayKey(series, FIRST);
    asked[advertiser] = { rows: data, hash: createKeys('dgw').cache(place.series, place.group) };
  }
  await writer.services.settled();
  // It has nothing in its own memory.
  const reader = await gatewayAt(writer.simulator, { config: ALWAYS, clock, sharedStore: store });
  const untouched = await reader.report(key, queryOf('2'));
  expect(untouched.headers['cache-status']).toContain('detail=store');
  await withControl(url, (control) => displace(control, asked[1]?.hash ?? '', asked[2]?.hash ?? ''));
  const reply = await reader.report(key, queryOf('1'));
  expect(reportIn(reply).data).toEqual(asked[1]?.rows);
  expect(reply.headers['cache-status']).toContain('fwd=miss');
  expect(reader.log.map(({ msg }) => msg)).toContain('a damaged cache entry was ignored');
});
