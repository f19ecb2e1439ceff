/** Refused writes, from the gateway that refused them to the operators of any. */
import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../../src/store/port.js';
import { createRefusals } from '../../../src/teams/write-guard/refusals.js';
import { CAMPAIGN } from '../../support/campaign.js';
import { sends, startRawPlatform } from '../../support/raw-platform.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { openInMemory } from '../../support/shared-registry.js';
import { gatewayAt, type TestGateway } from '../../support/start-gateway.js';

const CREATE = 'POST /api/v1/campaign/create';
const HOSTILE = 'a-value-of-the-body';

const refusedOf = async (gateway: TestGateway) =>
  (await gateway.manage('GET', '/writes')).refused as Record<string, unknown>[];

describe('a refused write', () => {
  it('is listed on every replica with time, team, key, route and rule, and without values of its body', async () => {
    const platform = await startRawPlatform(sends('{}'));
    const first = await gatewayAt(platform);
    const { store, clock } = first;
    const second = await gatewayAt(platform, { sharedStore: store, clock });
    const writeGuard = { [CREATE]: { amounts: [{ field: 'body.bid', max: 1 }], allowFields: ['bid'] } };
    const key = await first.addTeam({ id: 'growth', writeGuard });
    const write = (path: string, json: object, query = '') =>
      first.call(`${path}${query}`, { method: 'POST', key, json });
    expect(await refusedOf(first)).toEqual([]);
    await write('/api/v1/campaign/create', { bid: 0.5 });
    await write('/api/v1/campaign/create', { ...CAMPAIGN, bid: HOSTILE }, '?_dryRun=1');
    await write('/api/v1/campaign/create', { ...CAMPAIGN, bid: HOSTILE, [HOSTILE]: 1 });
    clock.advance(1000);
    await write('/api/v1/campaign/pause', {});
    await first.manage('POST', '/writes/stop', { reason: 'a loop' });
    clock.advance(1000);
    const stopped = await write('/api/v1/campaign/create', { bid: 0.5 });
    const { requestId } = stopped.json<{ requestId: string }>();
    const [keyOfTeam] = (await first.manage('GET', '/teams/growth/keys')).keys as { id: string }[];
    const common = { team: 'growth', key: keyOfTeam?.id, requestId: expect.any(String) };
    const expected = [
      {
        ...common,
        at: '2026-11-21T12:00:02.000Z',
        route: CREATE,
        code: 'writes_stopped',
        rule: null,
        requestId,
      },
      {
        ...common,
        at: '2026-11-21T12:00:01.000Z',
        route: 'POST /api/v1/campaign/pause',
        code: 'write_guard_refused',
        rule: 'route',
      },
      {
        ...common,
        at: '2026-11-21T12:00:00.000Z',
        route: CREATE,
        code: 'write_guard_refused',
        rule: 'allowFields',
      },
    ];
    expect(await refusedOf(first)).toEqual(expected);
    await expect.poll(() => refusedOf(second)).toEqual(expected);
    expect(JSON.stringify(expected)).not.toContain(HOSTILE);
    expect(JSON.stringify(expected)).not.toContain(key);
  });
});

const refusal = (second: number) => ({
  requestId: `request-${second}`,
  at: new Date(second * 1000).toISOString(),
  team: 'growth',
  key: 'k',
  route: CREATE,
  code: 'writes_stopped',
  rule: null,
});

it('the newest fifty of all replicas are kept, each once, in any order of writing', async () => {
  const { documents } = await openInMemory();
  const { logger } = createRecordedLog();
  const [one, other] = [createRefusals(documents, logger), createRefusals(documents, logger)];
  for (let second = 0; second < 60; second++) (second % 2 === 0 ? one : other).note(refusal(second));
  await other.close();
  await one.close();
  await one.close();
  const newest = Array.from({ length: 50 }, (_, index) => refusal(59 - index));
  expect(await one.list()).toEqual(newest);
  const later = createRefusals(documents, logger);
  expect(await later.list()).toEqual(newest);
  await later.close();
});

it('while the store is away, those of this process are listed', async () => {
  const away = () => Promise.reject(new StoreUnavailable());
  const { logger } = createRecordedLog();
  const refusals = createRefusals({ create: away, get: away, replace: away }, logger);
  refusals.note(refusal(1));
  expect(await refusals.list()).toEqual([refusal(1)]);
  await refusals.close();
});
