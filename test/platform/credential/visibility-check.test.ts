/** A token that sees less than the active one, on a platform that shows each token what it may see. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { REPORT, startGatewayAt, type TestGateway } from '../../support/start-gateway.js';

/** Rows each token sees of each advertiser; an answer that is no 200 is given as its status. */
type Views = Record<string, Record<string, number>>;

const FULL = { '1': 3, '2': 4 };
let views: Views = { active: FULL };
const calls: string[] = [];

const platform = createServer((request, response) => {
  const token = request.headers.authorization?.slice('Bearer '.length) ?? '';
  const query = new URL(request.url ?? '', 'http://platform.invalid').searchParams;
  const advertiser = query.get('advertiserId') ?? '';
  calls.push(`${token} ${advertiser} ${query.get('dateFrom')}..${query.get('dateTo')}`);
  const sees = views[token]?.[advertiser] ?? 401;
  const rows = Array.from({ length: sees }, (_, index) => ({
    date: query.get('dateFrom'),
    campaign_id: index + 1,
    impressions: 10,
  }));
  response
    .writeHead(sees >= 400 ? sees : 200, { 'content-type': 'application/json' })
    .end(JSON.stringify(sees >= 400 ? { message: 'no' } : { data: rows }));
});

/** It has reports of advertisers 1 and 2 of a final day in its cache. */
let gateway: TestGateway;
beforeAll(async () => {
  await new Promise<void>((resolve) => platform.listen(0, '127.0.0.1', resolve));
  const { port } = platform.address() as AddressInfo;
  gateway = await startGatewayAt({ url: `http://127.0.0.1:${port}/`, token: 'active' });
  const key = await gateway.addTeam();
  for (const advertiser of [1, 2]) {
    const query = `advertiserId=${advertiser}&byCampaign=1&dateFrom=2026-11-01&dateTo=2026-11-01`;
    expect((await gateway.call(`${REPORT}?${query}`, { key })).status).toBe(200);
  }
});
afterAll(async () => {
  await gateway.close();
  platform.closeAllConnections();
  platform.close();
});

async function rotate(body: object): Promise<{ status: number; detail: string }> {
  const response = await gateway.admin.inject({
    method: 'POST',
    url: '/admin/v1/token/rotate',
    headers: { authorization: 'Bearer admin-token-of-the-tests' },
    payload: body,
  });
  return { status: response.statusCode, detail: response.json<{ detail?: string }>().detail ?? '' };
}

/** Makes `active` the active token again, which sees everything, and shows the tokens these views. */
async function show(next: Views): Promise<void> {
  views = { active: FULL };
  await rotate({ token: 'active', force: true });
  views = next;
  calls.length = 0;
}

const vault = () => gateway.services.keeper.vault();

describe('a pasted token, with reports in the cache and no PLATFORM_PROBE', () => {
  it('that sees as much is proven by the cheapest of them, and activated', async () => {
    await show({ active: FULL, next: FULL });
    expect((await rotate({ token: 'next' })).status).toBe(200);
    expect(vault().active?.secret).toBe('next');
    const [probe, ...others] = calls;
    expect(probe).toBe('next 1 2026-11-01..2026-11-01');
    // The active one is not even asked while nothing is missing.
    expect(others.sort()).toEqual(['next 1 2026-11-01..2026-11-01', 'next 2 2026-11-01..2026-11-01']);
  });

  it.each([
    ['fewer rows', { '1': 3, '2': 3 }, '3 of 4 rows'],
    ['no rows', { '1': 3, '2': 0 }, '0 of 4 rows'],
    ['not this advertiser', { '1': 3, '2': 403 }, '0 of 4 rows'],
  ])('that sees %s is reported, and not activated unless by force', async (_what, view, said) => {
    await show({ active: FULL, next: view });
    const refused = await rotate({ token: 'next' });
    expect(refused.status).toBe(409);
    expect(refused.detail).toContain('The token sees less than the active one');
    expect(refused.detail).toContain(`${said} of /api/v1/report/campaigns/get?advertiserId=2&byCampaign=1`);
    expect(vault().active?.secret).toBe('active');
    expect(vault().pending).toBeNull();
    expect((await rotate({ token: 'next', force: true })).status).toBe(200);
    expect(vault().active?.secret).toBe('next');
  });

  it('that sees more is welcome', async () => {
    await show({ active: FULL, next: { '1': 3, '2': 40 } });
    expect((await rotate({ token: 'next' })).status).toBe(200);
  });

  it('that is refused is refused for that', async () => {
    await show({ active: FULL });
    expect((await rotate({ token: 'next' })).detail).toBe(
      'The platform refused the token; the active token stays in use.',
    );
  });

  it('is not blamed for rows that the active token does not see any more either', async () => {
    const less = { '1': 3, '2': 2 };
    await show({ active: less, next: less });
    expect((await rotate({ token: 'next' })).status).toBe(200);
  });

  it.each([
    ['is refused', 401],
    ['gets no answer', 500],
  ])('is not held against an active token that %s', async (_what, status) => {
    await show({ active: { '1': status, '2': status }, next: { '1': 3, '2': 1 } });
    expect((await rotate({ token: 'next' })).status).toBe(200);
  });
});
