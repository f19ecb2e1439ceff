/** A token whose expiry nobody knew was never sent again a year after it was first seen, though it still worked. */
import { expect, it } from 'vitest';
import { reportIn, withGateway } from '../support/start-gateway.js';

const QUERY = 'advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-03';
const YEAR = 366 * 86_400_000;

it('goes on being used, with a warning, and may be told its expiry later', async () => {
  const gateway = await withGateway({ switches: { tokenTtlSeconds: 5 * 31_536_000 } });
  const key = await gateway.addTeam();
  const { token } = gateway.simulator;
  expect((await gateway.manage('GET', '/token')).active).toMatchObject({ expiryKnown: false });
  gateway.clock.advance(YEAR);
  expect(reportIn(await gateway.report(key, QUERY)).data.length).toBeGreaterThan(0);
  expect((await gateway.call('/readyz')).json()).toMatchObject({ ready: true, credential: 'expired' });
  // The same token once more, with what is now known of it.
  const expiresAt = '2029-05-01T00:00:00.000Z';
  await gateway.manage('POST', '/token/rotate', { token, expiresAt });
  expect((await gateway.manage('GET', '/token')).active).toMatchObject({ expiresAt, expiryKnown: true });
  expect((await gateway.call('/readyz')).json()).toMatchObject({ credential: 'ok' });
});
