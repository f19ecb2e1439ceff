/** `npm run demo`, as a first-time reader meets it. */
import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { MAX_CALLS } from '../../src/reports/learn/state.js';
import { ask } from '../support/ask.js';
import { launch, tempFolder } from '../support/processes.js';
import { waitFor } from '../support/wait-for.js';

it('npm run demo without its past prints lines that work when they are pasted, and stops on Ctrl-C', async () => {
  const folder = await tempFolder();
  const demo = launch('npm', ['run', 'demo', '--', '--empty'], {
    PORT: '0',
    ADMIN_PORT: '0',
    TMPDIR: folder,
  });
  await waitFor('the last line', () => demo.stdout.includes('Ctrl-C stops everything.'), demo);
  const lines = demo.stdout.split('\n').map((line) => line.trim());
  const commands = lines.filter((line) => /^(?:curl|ADMIN_TOKEN=\S+) /.test(line));
  expect(commands.length).toBeGreaterThanOrEqual(7);
  const answers = new Map<string, string>();
  for (const command of commands) {
    const { stdout } = await promisify(execFile)('sh', ['-c', command]);
    answers.set(command, stdout);
  }
  const said = (pattern: RegExp) =>
    [...answers].filter(([command]) => pattern.test(command)).map(([, answer]) => answer);
  const [report = ''] = said(/-si /);
  expect(report).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(report).toMatch(/cache-status: dsp-gateway; fwd=miss; stored/);
  expect(said(/_format=csv/)[0]).toMatch(/^date,.*\r\n\d{4}-\d\d-\d\d,/);
  expect(said(/advertiserId=4/)[0]).toContain('"code":"advertiser_forbidden"');
  expect(JSON.parse(said(/\/gateway\/v1\/me/)[0] ?? '')).toMatchObject({
    team: { id: 'growth' },
    scopes: ['report:read', 'platform:read', 'platform:write', 'report:pin', 'report:watch', 'mcp'],
  });
  expect(JSON.parse(said(/\/admin\/v1\/teams/)[0] ?? '')).toMatchObject({ teams: [{ id: 'growth' }] });
  expect(JSON.parse(said(/\/admin\/v1\/token/)[0] ?? '')).toMatchObject({ active: { source: 'seed' } });
  expect(said(/^ADMIN_TOKEN=.* status$/)[0]).toMatch(/^(?:WELL|STARTING)/);
  expect(said(/\/metrics/)[0]?.match(/^dsp_gateway_platform_calls_total.*$/gm)).toContain(
    'dsp_gateway_platform_calls_total{outcome="answer",team="growth"} 1',
  );
  // The report's call, and those that compare its days.
  const { counts } = JSON.parse(said(/\/_sim/)[0] ?? '') as { counts: { calls: number } };
  expect(counts.calls).toBeGreaterThanOrEqual(1);
  expect(counts.calls).toBeLessThanOrEqual(1 + MAX_CALLS);
  // The second time, as the text says, it is a hit.
  const [first = ''] = commands;
  const { stdout: again } = await promisify(execFile)('sh', ['-c', first]);
  expect(again).toMatch(/cache-status: dsp-gateway; hit; /);
  const docs = /docs +(\S+)/.exec(demo.stdout)?.[1] ?? '';
  expect((await ask(docs)).status).toBeOneOf([200, 302]);

  // As a terminal does it: to npm and to everything it started.
  process.kill(-demo.pid, 'SIGINT');
  // npm itself may end by the signal; its pipes close when the demo has ended, too.
  expect(await demo.exited).toEqual(
    expect.toBeOneOf([
      { code: 0, signal: null },
      { code: null, signal: 'SIGINT' },
    ]),
  );
  expect(demo.stdout).toContain('stopping');
  await expect(ask(docs)).rejects.toThrow('ECONNREFUSED');
  expect(await readdir(folder)).toEqual([]);
});

it.each([[], ['--once']])(
  'a demo that is stopped in the middle leaves nothing behind (%s)',
  async (...options) => {
    const folder = await tempFolder();
    const demo = launch(process.execPath, ['dist/cli.js', 'demo', ...options], {
      PORT: '0',
      ADMIN_PORT: '0',
      TMPDIR: folder,
    });
    await waitFor('its start', () => demo.stdout.includes('  team '), demo);
    process.kill(demo.pid, 'SIGINT');
    expect(await demo.exited).toEqual({ code: options.length, signal: null });
    expect(await readdir(folder)).toEqual([]);
    expect(demo.stdout).not.toMatch(/Ctrl-C stops|platform calls, in|saved/);
    expect(demo.stderr).toBe('');
  },
);

it.each([
  { apps: 'whose apps go on', options: [] },
  { apps: 'whose apps are quiet', options: ['--quiet'] },
])('npm run demo has a past, $apps, and a first call that is still a miss', async ({ options }) => {
  const demo = launch('npm', ['run', 'demo', '--', ...options], { PORT: '0', ADMIN_PORT: '0' });
  await waitFor('the last line', () => demo.stdout.includes('Ctrl-C stops everything.'), demo);
  expect(demo.stdout).toMatch(/\n {2}\d+ requests, \d+ platform calls, in [\d.]+ s\n/);
  const [first = ''] = demo.stdout.split('\n').filter((line) => line.trim().startsWith('curl '));
  const { stdout } = await promisify(execFile)('sh', ['-c', first]);
  expect(stdout).toMatch(/cache-status: dsp-gateway; fwd=miss; stored/);
  expect(demo.stdout.includes('go on making requests')).toBe(options.length === 0);
  process.kill(-demo.pid, 'SIGINT');
  await demo.exited;
  expect(demo.stderr).toBe('');
});
