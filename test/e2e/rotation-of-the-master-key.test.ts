/** The master key is changed under real gateways, and everything goes on: keys, tokens, and what they are worth. */
import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { admin, ask, newTeam, REPORT } from '../support/ask.js';
import { type Gateway, launchGateway, startGateway, startPlatform } from '../support/processes.js';

const QUERY = `${REPORT}?advertiserId=1&_period=yesterday`;
const newKey = () => randomBytes(32).toString('base64');

it('is put in front, everything is sealed anew, and the old one goes', async () => {
  const platform = await startPlatform();
  const [before, after] = [newKey(), newKey()];
  const base = { PLATFORM_BASE_URL: platform.url, ADMIN_TOKEN: 'an-admin-token-for-tests' };
  let gateway: Gateway = await startGateway({
    ...base,
    PLATFORM_TOKEN: platform.token,
    GATEWAY_MASTER_KEY: before,
  });
  const { key } = await newTeam(gateway, { id: 'lasting' });
  const { id, fingerprint } = (
    await admin<{ active: { id: string; fingerprint: string } }>(gateway, 'GET', '/token')
  ).active;
  const restart = async (masterKey: string): Promise<void> => {
    await gateway.end('SIGTERM');
    gateway = await startGateway({
      ...base,
      GATEWAY_MASTER_KEY: masterKey,
      GATEWAY_DATA_DIR: gateway.dataDir,
    });
  };

  await restart(`${after},${before}`);
  expect(await admin(gateway, 'POST', '/token/reseal')).toEqual({
    masterKey: expect.stringMatching(/^[0-9a-f]{8}$/),
    records: ['meta/pepper', 'vault'],
  });
  expect((await ask(gateway.data + QUERY, { key })).status).toBe(200);

  await restart(after);
  expect((await ask(gateway.data + QUERY, { key })).status).toBe(200);
  expect(await admin(gateway, 'GET', '/token')).toMatchObject({ active: { id, fingerprint } });
  const { entries } = await admin<{ entries: { action: string }[] }>(gateway, 'GET', '/audit?limit=5');
  expect(entries.map(({ action }) => action)).toContain('token.reseal');

  await gateway.end('SIGTERM');
  const old = await launchGateway({ ...base, GATEWAY_MASTER_KEY: before, GATEWAY_DATA_DIR: gateway.dataDir });
  expect((await old.exited).code).not.toBe(0);
  expect(old.stderr).toMatch(/GATEWAY_MASTER_KEY holds no key that opens meta\/pepper/);
});
