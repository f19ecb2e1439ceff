/** A token that sees less than the active one, on a platform that shows each token what it may see. */
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { startHttpPlatform } from '../../support/broken-platform.js';
import { gatewayAt, REPORT, type TestGateway } from '../../support/start-gateway.js';

/** Rows each token sees of each advertiser; an answer that is no 200 is given as its status. */
type Views = Record<string, Record<string, number>>;

async function startViews(views: Views) {
  const calls: string[] = [];
  const platform = await startHttpPlatform((request, response) => {
    const token = request.headers.authorization?.slice('Bearer '.length) ?? '';
    const query = new URL(request.url ?? '', 'http://platform.invalid').searchParams;
    const advertiser = query.get('advertiserId') ?? '';
    calls.push(`${token} ${advertiser} ${query.get('dateFrom')}..${query.get('dateTo')}`);
    const sees = views[token]?.[advertiser] ?? 401;
    if (sees >= 400) return void send(response, sees, { message: 'no' });
    const rows = Array.from({ length: sees }, (_, index) => ({
      date: query.get('dateFrom'),
      campaign_id: index + 1,
      impressions: 10,
    }));
    send(response, 200, { data: rows });
  });
  return { url: platform.url.href, calls };
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** A gateway that has reports of advertisers 1 and 2 of a final day in its cache, fetched with the token `active`. */
async function openWith(views: Views) {
  const platform = await startViews(views);
  const gateway = await gatewayAt({ url: platform.url, token: 'active' });
  const key = await gateway.addTeam();
  for (const advertiser of [1, 2]) {
    const query = `advertiserId=${advertiser}&byCampaign=1&dateFrom=2026-11-01&dateTo=2026-11-01`;
    expect((await gateway.call(`${REPORT}?${query}`, { key })).status).toBe(200);
  }
  platform.calls.length = 0;
  return { gateway, calls: platform.calls };
}

async function rotate(gateway: TestGateway, body: object): Promise<{ status: number; detail: string }> {
  const response = await gateway.admin.inject({
    method: 'POST',
    url: '/admin/v1/token/rotate',
    headers: { authorization: 'Bearer admin-token-of-the-tests' },
    payload: body,
  });
  return { status: response.statusCode, detail: response.json<{ detail?: string }>().detail ?? '' };
}

const activeSecret = ({ services }: TestGateway) => services.keeper.vault().active?.secret;
const FULL = { '1': 3, '2': 4 };

describe('a pasted token, with reports in the cache and no PLATFORM_PROBE', () => {
  it('that sees as much is proven by the cheapest of them, and activated', async () => {
    const { gateway, calls } = await openWith({ active: FULL, next: FULL });
    expect((await rotate(gateway, { token: 'next' })).status).toBe(200);
    expect(activeSecret(gateway)).toBe('next');
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
    const { gateway } = await openWith({ active: FULL, next: view });
    const refused = await rotate(gateway, { token: 'next' });
    expect(refused.status).toBe(409);
    expect(refused.detail).toContain('The token sees less than the active one');
    expect(refused.detail).toContain(`${said} of /api/v1/report/campaigns/get?advertiserId=2&byCampaign=1`);
    expect(activeSecret(gateway)).toBe('active');
    expect(gateway.services.keeper.vault().pending).toBeNull();
    expect((await rotate(gateway, { token: 'next', force: true })).status).toBe(200);
    expect(activeSecret(gateway)).toBe('next');
  });

  it('that sees more is welcome', async () => {
    const { gateway } = await openWith({ active: FULL, next: { '1': 3, '2': 40 } });
    expect((await rotate(gateway, { token: 'next' })).status).toBe(200);
  });

  it('that is refused is refused for that', async () => {
    const { gateway } = await openWith({ active: FULL });
    expect((await rotate(gateway, { token: 'next' })).detail).toBe(
      'The platform refused the token; the active one stays.',
    );
  });

  it('is not blamed for rows that the active token does not see any more either', async () => {
    const views: Views = { active: { ...FULL }, next: { '1': 3, '2': 2 } };
    const { gateway } = await openWith(views);
    views.active = { '1': 3, '2': 2 };
    expect((await rotate(gateway, { token: 'next' })).status).toBe(200);
  });

  it.each([
    ['is refused', 401],
    ['gets no answer', 500],
  ])('is not held against an active token that %s', async (_what, status) => {
    const views: Views = { active: { ...FULL }, next: { '1': 3, '2': 1 } };
    const { gateway } = await openWith(views);
    views.active = { '1': status, '2': status };
    expect((await rotate(gateway, { token: 'next' })).status).toBe(200);
  });
});
