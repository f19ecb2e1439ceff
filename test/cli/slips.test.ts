/** Slips on the command line that would do less or more than was meant: nothing is asked of the gateway. */
import { expect, it } from 'vitest';
import { runCli } from './run-cli.js';

/** Nobody answers there: what is taken ends with 69. */
const cli = (...args: readonly string[]) =>
  runCli(args, { ADMIN_TOKEN: 'x', DSP_GATEWAY_KEY: 'x', GATEWAY_ADMIN_URL: 'http://127.0.0.1:1' });

it.each([
  ['cache purge --advertiser 1 --advertiser 2', '--advertiser <id>'],
  ['cache purge --advertiser 1 --advertiser x', '--advertiser <id>'],
  ['teams update growth --advertisers 1 --advertisers=2', '--advertisers <ids>'],
  ['apply -f a.yaml --file b.yaml', '-f, --file <path>'],
  ['keys roll key_x --overlap 1h --overlap 2h', '--overlap <length>'],
  ['report diff advertiserId=1 --from first --to latest --to 2026-11-09', '--to <moment>'],
])('a flag given twice does not lose its first value: %s', async (line, flags) => {
  const { code, stdout, stderr } = await cli(...line.split(' '));
  expect([code, stdout]).toEqual([64, '']);
  expect(stderr).toContain(`option '${flags}' is given twice`);
});

it.each([
  ['writes stop --reason --team=growth', '--reason'],
  ['writes stop --reason --team growth', '--reason'],
  ['cache purge --advertiser --all', '--advertiser'],
  ['apply -f --dry-run', '--file'],
  ['audit --team --json', '--team'],
  ['report pin create advertiserId=1 --note --revision=1', '--note'],
])('a flag is not swallowed as the value of the one before it: %s', async (line, flag) => {
  const { code, stdout, stderr } = await cli(...line.split(' '));
  expect([code, stdout]).toEqual([64, '']);
  expect(stderr).toContain(`write a value that begins with -- as ${flag}=--`);
});

it('a secret in the place of a value is not repeated', async () => {
  const { code, stderr } = await cli('writes', 'stop', '--reason', '--token=SECRET-OF-THE-TEST');
  expect([code, stderr]).toEqual([64, expect.not.stringContaining('SECRET')]);
});

it('a value that begins with -- is taken where it stands with its flag, and a switch may be set beside another', async () => {
  expect((await cli('writes', 'stop', '--reason=--team=growth')).code).toBe(69);
  expect(
    (await cli('writes', 'stop', '--reason', 'a - b', '--team', 'growth', '--json', '--json')).code,
  ).toBe(69);
  const simulate = await cli('simulate', '--switch', 'shape=nested', '--switch', 'latencyMs=x');
  expect([simulate.code, simulate.stderr]).toEqual([65, expect.stringContaining('latencyMs')]);
});
