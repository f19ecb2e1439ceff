/** The commands at the other end of which another release answers, or something else that speaks JSON. */
import { expect, it } from 'vitest';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { runCli } from './run-cli.js';

async function answeredBy(answer: object, args: readonly string[], status = 200) {
  const { url } = await startRawPlatform(sends(JSON.stringify(answer), {}, status));
  return runCli([...args], { GATEWAY_ADMIN_URL: url, ADMIN_TOKEN: 'any' });
}

const KEY = {
  id: 'key_1',
  teamId: 'growth',
  label: '',
  prefix: 'dgw_1',
  createdAt: '2026-11-01T00:00:00.000Z',
  expiresAt: null,
  revokedAt: null,
  previous: null,
};

it('an answer of a newer release is read as far as it is known, and printed whole as JSON', async () => {
  const keys = [{ ...KEY, newer: { of: 'a newer release' } }];
  const table = await answeredBy({ keys, more: 1 }, ['keys', 'list', 'growth']);
  expect([table.code, table.stdout]).toEqual([0, expect.stringContaining('key_1')]);
  const json = await answeredBy({ keys, more: 1 }, ['keys', 'list', 'growth', '--json']);
  expect(JSON.parse(json.stdout)).toEqual(keys);
});

it.each([
  ['keys', ['keys', 'list', 'growth'], { keys: { of: 'another form' } }],
  ['the health', ['status'], { ready: 'yes' }],
  ['the tokens', ['token', 'show'], { active: null }],
  ['a purge', ['cache', 'purge', '--advertiser', '1'], {}],
  ['an issued key', ['keys', 'issue', 'growth'], { ok: true }],
])(
  '%s of another form end the command with a word about it, and nothing is printed',
  async (_, args, answer) => {
    const { code, stdout, stderr } = await answeredBy(answer, args);
    expect([code, stdout]).toEqual([69, '']);
    expect(stderr).toContain('unexpected response of the gateway');
  },
);

it('a refusal that is no problem document is told as such', async () => {
  const { code, stderr } = await answeredBy({ title: 'No', detail: 7 }, ['status'], 400);
  expect([code, stderr]).toEqual([69, expect.stringContaining('400 without a problem document')]);
});
