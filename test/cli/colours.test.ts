/** Colours: of verdicts alone, at a terminal alone. */
import { expect, it } from 'vitest';
import { runCli } from './run-cli.js';

const env = { GATEWAY_ADMIN_URL: 'http://127.0.0.1:1', ADMIN_TOKEN: 'x' };

it('a verdict has a colour at a terminal, and none elsewhere', async () => {
  const seen = (await runCli(['status'], env, '', { colours: true })).stdout;
  expect(seen.startsWith('\u001b[31mNOT WELL\u001b[0m: The admin plane')).toBe(true);
  expect((await runCli(['status'], env)).stdout).toMatch(/^NOT WELL: The admin plane/);
  expect((await runCli(['status', '--json'], env, '', { colours: true })).stdout).not.toContain('\u001b');
});
