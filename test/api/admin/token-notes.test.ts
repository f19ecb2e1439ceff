/** What status and doctor note of tokens. */
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

it('status and doctor note that an older token is in use again, because the platform refused its successor', async () => {
  const gateway = await withGateway({ config: { platform: { probe: PROBE } } });
  const { simulator } = gateway;
  gateway.clock.advance(MINUTE);
  const token = simulator.issueToken();
  await gateway.manage('POST', '/token/rotate', { token });
  simulator.revoke(token);
  gateway.clock.advance(MINUTE);
  // Its call goes back, as a request does.
  const { notes } = await gateway.manage('POST', '/doctor');
  expect(notes).toEqual([
    expect.stringMatching(
      /^the gateway runs on the previous token [0-9a-f]{16} again: the platform refused [0-9a-f]{16}, added 2026-11-21 12:01 UTC, at 2026-11-21 12:02 UTC \(to replace it: dsp-gateway token rotate\)$/,
    ),
  ]);
  expect((await gateway.manage('GET', '/status')).notes).toEqual(notes);
});
