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

type Changes = Partial<typeof CONFIG.platform> & { readonly report?: Partial<typeof CONFIG.report> };
const given = ({ report, ...platform }: Changes) => ({
  platform: { ...CONFIG.platform, ...platform },
  report: { ...CONFIG.report, ...report },
});
const hashesOf = (changes: Changes) => sharedSettings(given(changes), () => []).hashes;
const apart = (own: Changes, ...others: Changes[]) =>
  sharedSettings(given(own), () =>
    others.map((one) => ({ info: JSON.stringify({ id: 'other', settings: hashesOf(one) }) })),
  ).apart();

it('are alike in any order of their members, and told by name where a value differs', () => {
  const own = { timezones: { 1: 'UTC', 2: 'Asia/Tokyo' } };
  expect(apart(own, { timezones: { 2: 'Asia/Tokyo', 1: 'UTC' } })).toEqual([]);
  const other = { timezone: 'Asia/Tokyo', timezones: { 1: 'UTC', 2: 'UTC' } };
  expect(apart(own, own, other)).toEqual(['platform.timezone', 'platform.timezones']);
});

it('are alike where an address has a slash at its end, and lists have another order; fields of accounts have one', () => {
  const endpoints = Object.entries(CONFIG.report.endpoints);
  const listed = (...names: string[]): Changes => ({
    report: {
      nonAccountParameters: names,
      endpoints: Object.fromEntries(
        endpoints.map(([name, one]) => [name, { ...one, knownColumns: names, knownParameters: names }]),
      ),
    },
  });
  const addressed = { baseUrl: 'https://platform.example/' };
  expect(apart(listed('a', 'b'), { ...listed('b', 'a'), ...addressed })).toEqual([]);
  expect(apart(listed('a'), listed('b'))).toEqual(['report.endpoints', 'report.nonAccountParameters']);
  const accountFields = CONFIG.report.accountFields.toReversed();
  expect(apart({}, { report: { accountFields } })).toEqual(['report.accountFields']);
  expect(apart({}, { account: 'other' })).toEqual(['platform.account']);
});

it.each([
  '{}',
  '{"settings":{"constructor":"x"}}',
  '{"settings":{"report.other":"x"}}',
  '{"settings":7}',
  'no JSON',
])('are not compared with a process that does not report them: %s', (info) => {
  expect(sharedSettings(CONFIG, () => [{ info }]).apart()).toEqual([]);
});

it('give nothing of their values away', () => {
  const hashes = hashesOf({ baseUrl: 'https://user:secret-word@platform.example' });
  expect(hashes['platform.baseUrl']).toMatch(/^[\w-]{8}$/);
  expect(JSON.stringify(hashes)).not.toMatch(/secret-word|platform\.example/);
});
