/** Keys as they are used: when last, and what trying wrong ones costs. */
import { describe, expect, it } from 'vitest';
import { generateApiKey } from '../../src/teams/auth/directory.js';
import { outcomeOf, type TestGateway, withTeam } from '../support/start-gateway.js';

const ME = '/gateway/v1/me';

interface ListedKey {
  readonly id: string;
  readonly lastUsedAt: string | null;
}

async function keysOf(gateway: TestGateway): Promise<readonly ListedKey[]> {
  const { keys } = await gateway.manage('GET', '/teams/team-1/keys');
  return keys as ListedKey[];
}

describe('the list of keys', () => {
  it('says when each was last used, under one id also after it was rolled', async () => {
    const { gateway, key } = await withTeam();
    const [unused] = await keysOf(gateway);
    expect(unused?.lastUsedAt).toBeNull();
    await gateway.call(ME, { key });
    expect(await keysOf(gateway)).toMatchObject([{ id: unused?.id, lastUsedAt: '2026-11-21T12:00:00.000Z' }]);
    const rolled = await gateway.manage('POST', `/keys/${unused?.id}/roll`, {});
    gateway.clock.advance(60_000);
    expect(outcomeOf(await gateway.call(ME, { key }))).toBe('401 expired_api_key');
    expect(await keysOf(gateway)).toMatchObject([{ lastUsedAt: '2026-11-21T12:00:00.000Z' }]);
    await gateway.call(ME, { key: String(rolled.key) });
    expect(await keysOf(gateway)).toMatchObject([{ id: unused?.id, lastUsedAt: '2026-11-21T12:01:00.000Z' }]);
  });
});

describe('a flood of wrong keys from one address', () => {
  it('has its refusals held back, and nothing else', async () => {
    const { gateway, key } = await withTeam();
    const wrong = generateApiKey();
    for (let count = 0; count < 80; count++) gateway.services.slowFailures.delayMs('192.0.2.1');
    const answered: string[] = [];
    const asked = (name: string, options: Parameters<TestGateway['call']>[1]) =>
      gateway.call(ME, options).then((reply) => {
        answered.push(`${name}: ${outcomeOf(reply)}`);
      });
    await Promise.all([
      asked('wrong', { key: wrong, from: '192.0.2.1' }),
      asked('malformed', { key: 'dgw_x', from: '192.0.2.1' }),
      asked('none', { from: '192.0.2.1' }).then(() => asked('valid', { key, from: '192.0.2.1' })),
    ]);
    // Those that were held came last, though they were asked first.
    expect(answered.slice(0, 2)).toEqual(['none: 401 missing_api_key', 'valid: 200']);
    expect(answered.slice(2).sort()).toEqual([
      'malformed: 401 invalid_api_key',
      'wrong: 401 invalid_api_key',
    ]);
  });
});
