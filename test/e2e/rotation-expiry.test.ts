/** The end of a token from the outside: who is told, where, and that way 2 does not let it come. */
import { expect, it } from 'vitest';
import { admin, ask, newTeam, simulatorOf } from '../support/ask.js';
import { logLines, startGateway, startPlatform } from '../support/processes.js';
import { waitFor } from '../support/wait-for.js';

const DAY_MS = 86_400_000;
const CLOCK = { GATEWAY_TEST_CLOCK: '1' };

it('a pasted token warns before it expires: in the log once, in metrics, readiness, status, and to a team', async () => {
  const platform = await startPlatform();
  const gateway = await startGateway({ ...platform.env, ...CLOCK });
  const { key } = await newTeam(gateway, { id: 'warned' });
  expect((await ask(`${gateway.data}/readyz`)).json()).toMatchObject({ credential: 'unproven' });
  const before = (await ask(`${gateway.admin}/metrics`)).text;
  expect(before).toMatch(/^dsp_gateway_token_expiry_known 0$/m);
  expect(before).not.toMatch(/^dsp_gateway_token_expiry_warning_days /m);

  await admin(gateway, 'PUT', '/clock', { offsetMs: 355.5 * DAY_MS });
  const warnings = () => logLines(gateway).filter(({ msg }) => msg?.startsWith('the platform token'));
  await waitFor('the warning', () => warnings().length > 0, gateway);
  const ready = await ask(`${gateway.data}/readyz`);
  expect([ready.status, ready.json()]).toEqual([
    200,
    expect.objectContaining({ ready: true, store: 'ok', credential: 'expiring', platform: 'ok' }),
  ]);
  const seen = { state: 'expiring', expiryKnown: false, daysLeft: 9, warningDays: 14, renewsAt: null };
  const { active } = await admin<{ active: { expiresAt: string; expiryKnown: boolean } }>(
    gateway,
    'GET',
    '/token',
  );
  expect(active.expiryKnown).toBe(false);
  const status = await admin(gateway, 'GET', '/status');
  expect(status).toMatchObject({ credential: { ...seen, expiresAt: active.expiresAt } });
  const me = await ask(`${gateway.data}/gateway/v1/me`, { key });
  expect(me.json()).toMatchObject({ credential: seen });
  expect((await ask(`${gateway.admin}/metrics`)).text).toMatch(/^dsp_gateway_token_expiry_warning_days 14$/m);

  // Killed and started again: the log has said it, the rest goes on saying it.
  await gateway.end('SIGKILL');
  const again = await startGateway({ ...platform.env, ...CLOCK, GATEWAY_DATA_DIR: gateway.dataDir });
  await admin(again, 'PUT', '/clock', { offsetMs: 362.5 * DAY_MS });
  await waitFor('the next warning', () => /expires in 2 days \(assumed\)/.test(again.stdout), again);
  expect(again.stdout).not.toMatch(/expires in 9 days/);
  expect(warnings()).toHaveLength(1);
});

it('a token from the token request is renewed 30 days ahead, though nobody asks', async () => {
  const platform = await startPlatform();
  const gateway = await startGateway({ ...platform.mintEnv, ...CLOCK });
  const sim = simulatorOf(platform.url);
  const before = await admin<{ active: { id: string; expiresAt: string } }>(gateway, 'GET', '/token');
  const { credential } = await admin<{ credential: { renewsAt: string; expiryKnown: boolean } }>(
    gateway,
    'GET',
    '/status',
  );
  expect(credential.expiryKnown).toBe(true);
  const aheadMs = Date.parse(before.active.expiresAt) - Date.parse(credential.renewsAt);
  expect(aheadMs).toBe(30 * DAY_MS);
  await sim.forget();
  await admin(gateway, 'PUT', '/clock', { offsetMs: 334 * DAY_MS });
  expect(await admin(gateway, 'GET', '/token')).toEqual(before);

  // Past the jitter, which is a tenth of the 30 days at most.
  await admin(gateway, 'PUT', '/clock', { offsetMs: 339 * DAY_MS });
  const renewed = await waitFor('another token', async () => {
    const now = await admin<typeof before & { previous: { id: string } | null }>(gateway, 'GET', '/token');
    return now.active.id !== before.active.id && now;
  });
  expect(renewed.previous?.id).toBe(before.active.id);
  expect((await sim.calls()).map(({ path }) => path)).toEqual(['/oauth/token']);
  expect((await ask(`${gateway.data}/readyz`)).json()).toMatchObject({ credential: 'ok' });
});
