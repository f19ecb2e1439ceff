/** Embedded store: what was acknowledged is there after `kill -9` at that very moment. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, it } from 'vitest';
import { admin, ask, type IssuedKey, newTeam, REPORT, simulatorOf } from '../support/ask.js';
import { type Gateway, type Platform, startGateway, startPlatform } from '../support/processes.js';

const QUERY = `${REPORT}?advertiserId=1&_period=yesterday`;

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform();
});

/** Kills a gateway the moment a change is acknowledged, and starts the next one on its folder. */
async function crashAfter(gateway: Gateway, change: () => Promise<unknown>): Promise<Gateway> {
  await change();
  await gateway.end('SIGKILL');
  return startGateway({ ...platform.env, GATEWAY_DATA_DIR: gateway.dataDir });
}

const status = async (gateway: Gateway, key: string, query = QUERY) => {
  const answer = await ask(gateway.data + query, { key });
  return answer.status === 200 ? 200 : answer.json<{ code: string }>().code;
};

describe.concurrent('after kill -9 right behind an acknowledged change', () => {
  it('teams, keys, revocations, rolls and the token are as they were acknowledged', async ({ expect }) => {
    let gateway = await startGateway(platform.env);
    await admin(gateway, 'POST', '/teams', { id: 'kept', name: 'Kept', advertisers: [1, 2] });
    let first: IssuedKey | undefined;
    gateway = await crashAfter(gateway, async () => {
      first = await admin<IssuedKey>(gateway, 'POST', '/teams/kept/keys', { label: 'first' });
    });
    const { key, id } = first as IssuedKey;
    expect(await admin(gateway, 'GET', '/teams/kept')).toMatchObject({ name: 'Kept', advertisers: [1, 2] });
    expect(await status(gateway, key)).toBe(200);

    let rolled: IssuedKey | undefined;
    gateway = await crashAfter(gateway, async () => {
      rolled = await admin<IssuedKey>(gateway, 'POST', `/keys/${id}/roll`, { overlapSeconds: 0 });
    });
    const { key: newer } = rolled as IssuedKey;
    expect([await status(gateway, key), await status(gateway, newer)]).toEqual(['expired_api_key', 200]);

    await admin(gateway, 'DELETE', `/keys/${id}`);
    gateway = await crashAfter(gateway, () => admin(gateway, 'PATCH', '/teams/kept', { advertisers: [2] }));
    expect(await status(gateway, newer)).toBe('revoked_api_key');
    const other = await admin<IssuedKey>(gateway, 'POST', '/teams/kept/keys', {});
    expect(await status(gateway, other.key)).toBe('advertiser_forbidden');

    const sim = simulatorOf(platform.url);
    const token = await sim.issueToken();
    const { active: before } = await admin<{ active: { id: string } }>(gateway, 'GET', '/token');
    gateway = await crashAfter(gateway, () =>
      admin(gateway, 'POST', '/token/rotate', { token, force: true }),
    );
    // The environment still names the first token: a restart does not undo the rotation.
    const vault = await admin<Record<string, { id: string; source: string } | null>>(
      gateway,
      'GET',
      '/token',
    );
    expect(vault.previous?.id).toBe(before.id);
    expect(vault.active?.source).toBe('staged');
    expect(vault.pending).toBeNull();
    await admin(gateway, 'PATCH', '/teams/kept', { advertisers: '*' });
    await sim.forget();
    // One that nobody has put before: cached answers outlive the process.
    const unasked = `${REPORT}?advertiserId=2&_period=yesterday`;
    expect(await status(gateway, other.key, unasked)).toBe(200);
    expect((await sim.calls()).map(({ headers }) => headers.authorization)).toEqual([`Bearer ${token}`]);

    gateway = await crashAfter(gateway, () => admin(gateway, 'DELETE', '/teams/kept'));
    expect(await status(gateway, other.key)).toBe('revoked_api_key');
    const { entries } = await admin<{ entries: { action: string }[] }>(gateway, 'GET', '/audit');
    expect(entries.map(({ action }) => action)).toEqual(
      expect.arrayContaining(['team.create', 'key.issue', 'key.roll', 'key.revoke', 'team.delete']),
    );
  });

  it('no file of the folder is open to others, and no draft is left behind', async ({ expect }) => {
    const gateway = await startGateway(platform.env);
    await newTeam(gateway, { id: 'files' });
    await gateway.end('SIGKILL');
    const next = await startGateway({ ...platform.env, GATEWAY_DATA_DIR: gateway.dataDir });
    const names = await readdir(next.dataDir);
    expect(names).toEqual(expect.arrayContaining(['admin.token', 'lock', 'master.key']));
    for (const name of names) {
      const found = await stat(join(next.dataDir, name));
      const mode = found.isDirectory() ? 0o700 : 0o600;
      expect({ name, mode: found.mode & 0o777 }).toEqual({ name, mode });
    }
    expect(names.filter((name) => /\.(tmp|new|[0-9a-f]{12})$/.test(name))).toEqual([]);
  });

  it('a writer killed at any moment loses nothing that was acknowledged', async ({ expect }) => {
    let gateway = await startGateway(platform.env);
    const acknowledged: string[] = [];
    for (const round of [1, 2, 3]) {
      const victim = gateway;
      let stopped = false;
      const writing = (async () => {
        for (let n = 1; !stopped; n++) {
          const id = `r${round}-${n}`;
          try {
            await admin(victim, 'POST', '/teams', { id });
          } catch {
            return;
          }
          acknowledged.push(id);
          if (n === 5 * round) victim.signal('SIGKILL');
        }
      })();
      await victim.exited;
      stopped = true;
      await writing;
      gateway = await startGateway({ ...platform.env, GATEWAY_DATA_DIR: gateway.dataDir });
      const { teams } = await admin<{ teams: { id: string }[] }>(gateway, 'GET', '/teams');
      expect(teams.map(({ id }) => id)).toEqual(expect.arrayContaining(acknowledged));
    }
    expect(acknowledged.length).toBeGreaterThanOrEqual(30);
  });
});
