/** Settings that processes of one store must share. */
import { expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.js';
import { sharedSettings } from '../../src/server/shared-settings.js';

const CONFIG = loadConfig({
  PLATFORM_BASE_URL: 'https://platform.example',
  PLATFORM_TOKEN: 'a-token',
  ADMIN_TOKEN: 'an-admin-token-for-tests',
  GATEWAY_MASTER_KEY: Buffer.alloc(32).toString('base64'),
});

type Platform = typeof CONFIG.platform;
const given = (changes: Partial<Platform>) => ({ ...CONFIG, platform: { ...CONFIG.platform, ...changes } });
const hashesOf = (changes: Partial<Platform>) => sharedSettings(given(changes), () => []).hashes;
const apart = (own: Partial<Platform>, ...others: Partial<Platform>[]) =>
  sharedSettings(given(own), () =>
    others.map((one) => ({ info: JSON.stringify({ id: 'other', settings: hashesOf(one) }) })),
  ).apart();

it('are alike in any order of their members, and told by name where a value differs', () => {
  const own = { timezones: { 1: 'UTC', 2: 'Asia/Tokyo' } };
  expect(apart(own, { timezones: { 2: 'Asia/Tokyo', 1: 'UTC' } })).toEqual([]);
  const other = { timezone: 'Asia/Tokyo', timezones: { 1: 'UTC', 2: 'UTC' } };
  expect(apart(own, own, other)).toEqual(['platform.timezone', 'platform.timezones']);
});

it.each(['{}', '{"settings":{"report.other":"x"}}', '{"settings":7}', 'no JSON'])(
  'are not compared with a process that does not report them: %s',
  (info) => {
    expect(sharedSettings(CONFIG, () => [{ info }]).apart()).toEqual([]);
  },
);

it('give nothing of their values away', () => {
  const hashes = hashesOf({ baseUrl: 'https://user:secret-word@platform.example' });
  expect(hashes['platform.baseUrl']).toMatch(/^[\w-]{8}$/);
  expect(JSON.stringify(hashes)).not.toMatch(/secret-word|platform\.example/);
});
