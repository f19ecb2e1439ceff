/** Who tried a token that the platform refused was nowhere in the audit. */
import { expect, it } from 'vitest';
import { withGateway } from '../support/start-gateway.js';

interface Entry {
  readonly action: string;
  readonly after?: unknown;
}

it('is in the audit, with its reason and without the token', async () => {
  const probe = '/api/v1/report/campaigns/get?advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-01';
  const gateway = await withGateway({ config: { platform: { probe } } });
  await expect(gateway.manage('POST', '/token/rotate', { token: 'a-token-that-is-wrong' })).rejects.toThrow();
  const { entries } = (await gateway.manage('GET', '/audit')) as { entries: Entry[] };
  expect(entries.slice(0, 3).map(({ action }) => action)).toEqual([
    'token.discard',
    'token.verify',
    'token.stage',
  ]);
  expect(entries[1]?.after).toEqual({
    verified: false,
    reason: 'The platform refused the token; the active one stays.',
  });
  expect(JSON.stringify(entries)).not.toContain('a-token-that-is-wrong');
});
