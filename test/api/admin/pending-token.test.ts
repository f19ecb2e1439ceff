/** A token that waits for its activation, as operators see it in status. */
import { expect, it } from 'vitest';
import { REPORT, withGateway } from '../../support/start-gateway.js';
import { MINUTE } from '../../support/test-clock.js';

const PROBE = `${REPORT}?advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-01`;

it('status and doctor note a pending token, since when, and what to do, until it is discarded', async () => {
  const gateway = await withGateway({ config: { platform: { probe: PROBE } } });
  const notes = async () => (await gateway.manage('GET', '/status')).notes;
  expect(await notes()).toEqual([]);
  await gateway.manage('POST', '/token/stage', { token: gateway.simulator.issueToken() });
  gateway.clock.advance(MINUTE);
  expect(await notes()).toEqual([
    'an unverified token is pending since 2026-11-21 12:00 UTC (to go on: dsp-gateway token verify; to drop it: dsp-gateway token discard)',
  ]);
  expect((await gateway.manage('POST', '/doctor')).notes).toEqual(await notes());
  await gateway.manage('POST', '/token/verify');
  expect(await notes()).toEqual([
    'a verified token is pending since 2026-11-21 12:00 UTC (to go on: dsp-gateway token activate; to drop it: dsp-gateway token discard)',
  ]);
  await gateway.manage('POST', '/token/discard');
  expect(await notes()).toEqual([]);
});
