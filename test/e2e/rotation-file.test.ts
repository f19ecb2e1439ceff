/** A rotated Kubernetes secret: the file of the token changes under two running gateways, and that is a rotation. */
import { randomBytes } from 'node:crypto';
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { admin, ask, newTeam, REPORT, simulatorOf } from '../support/ask.js';
import { startGateway, startPlatform, tempFolder } from '../support/processes.js';
import { startRedis } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';

const PROBE = `${REPORT}?advertiserId=1&dateFrom=2026-01-01&dateTo=2026-01-01`;

interface Entry {
  readonly action: string;
  readonly actor: string;
}

/** A mounted secret: `token` leads through `..data` to a folder, and an update swaps `..data` (kubelet does so). */
async function mountSecret() {
  const folder = await tempFolder();
  let version = 0;
  async function put(token: string): Promise<void> {
    version += 1;
    const data = join(folder, `..${version}`);
    await mkdir(data);
    await writeFile(join(data, 'token'), `${token}\n`);
    await symlink(`..${version}`, join(folder, '..data_tmp'));
    await rename(join(folder, '..data_tmp'), join(folder, '..data'));
    await rm(join(folder, `..${version - 1}`), { recursive: true, force: true });
  }
  await symlink('..data/token', join(folder, 'token'));
  return { path: join(folder, 'token'), put };
}

it('is taken over by all gateways, once, and a wrong token in it changes nothing', async () => {
  const [platform, redis, secret] = await Promise.all([startPlatform(), startRedis(), mountSecret()]);
  onTestFinished(() => redis.close());
  await secret.put(platform.token);
  const env = {
    PLATFORM_BASE_URL: platform.url,
    PLATFORM_TOKEN_FILE: secret.path,
    PLATFORM_PROBE: PROBE,
    GATEWAY_MASTER_KEY: randomBytes(32).toString('base64'),
    ADMIN_TOKEN: 'an-admin-token-for-tests',
    REDIS_URL: redis.url,
  };
  const [one, two] = await Promise.all([startGateway(env), startGateway(env)]);
  const { key } = await newTeam(one, { id: 'mounted' });
  const sim = simulatorOf(platform.url);
  const used = async (): Promise<string[]> => {
    await sim.forget();
    for (const { data } of [one, two]) {
      await waitFor(
        'an answer',
        async () => (await ask(`${data}/api/v1/campaign/9`, { key })).status === 404,
      );
    }
    const calls = (await sim.calls()).filter(({ path }) => path.includes('/campaign/9'));
    return [...new Set(calls.map(({ headers }) => headers.authorization ?? 'none'))];
  };
  expect(await used()).toEqual([`Bearer ${platform.token}`]);

  await secret.put('copied-from-elsewhere');
  await waitFor('the refusal', () => /stays pending/.test(one.stdout + two.stdout), one);
  expect(await used()).toEqual([`Bearer ${platform.token}`]);

  const next = await sim.issueToken();
  await secret.put(next);
  await waitFor('the new token', async () => {
    const vaults = await Promise.all(
      [one, two].map((gateway) => admin<{ active: { source: string } }>(gateway, 'GET', '/token')),
    );
    const states = vaults.map((vault) => JSON.stringify({ ...vault, pending: null }));
    return (await used()).join() === `Bearer ${next}` && states[0] === states[1];
  });
  const { entries } = await admin<{ entries: Entry[] }>(one, 'GET', '/audit?limit=20');
  const activations = entries.filter(({ action }) => action === 'token.activate');
  expect(activations.map(({ actor }) => actor)).toEqual(['gateway', 'gateway']);
  for (const gateway of [one, two]) await gateway.end('SIGTERM');
});
