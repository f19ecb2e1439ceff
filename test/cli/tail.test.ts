/** The lines of `tail` at a terminal: coloured where that is wanted, and nothing in them that acts on it. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { runCli } from './run-cli.js';

const LINE = {
  at: '2026-11-21T12:00:00.123Z',
  team: 'growth',
  key: 'k1',
  method: 'GET',
  path: '/api/v1/x\u001b[2J',
  ...{ status: 502, outcome: 'error', platformCalls: 2, ms: 12.5, rows: 0, bytes: 99, requestId: 'r1' },
};

/** Answers with these lines, is away for a moment, gives them again, then refuses, which ends the command. */
async function tailOf(lines: readonly object[], colours: boolean, more: readonly string[] = []) {
  let asked = 0;
  const server = createServer((_request, response) => {
    asked += 1;
    if (asked === 1) response.end(lines.map((line) => `${JSON.stringify(line)}\n\n`).join(''));
    else if (asked === 2) response.end('\n');
    else response.writeHead(401).end();
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return await runCli(['tail', '--url', url, ...more], { ADMIN_TOKEN: 'x' }, '', { colours });
}

it('are plain where no colours are wanted; it comes back, and a token that is taken back ends it', async () => {
  const failed = { ...LINE, outcome: 'failed', code: 'upstream_error\u001b[2J', cause: 'status 500' };
  const tool = { ...LINE, status: 200, method: 'POST', path: '/mcp/whoami', via: 'mcp', platformCalls: 0 };
  const { stdout, stderr, code } = await tailOf([LINE, failed, tool, { dropped: 12 }], false);
  expect(stdout.split('\n')).toEqual([
    '12:00:00.123  502  error           growth        GET  /api/v1/x\ufffd[2J  12.5 ms  0 rows  99 bytes  2 platform calls  r1',
    '12:00:00.123  502  failed          growth        GET  /api/v1/x\ufffd[2J  upstream_error\ufffd[2J (status 500)  12.5 ms  0 rows  99 bytes  2 platform calls  r1',
    '12:00:00.123  200  error           growth        POST  /mcp/whoami  via mcp  12.5 ms  0 rows  99 bytes  r1',
    '12 requests were not shown: too many at once',
    '',
  ]);
  const lost = 'lost the connection to the gateway; reconnecting\n';
  expect(stderr.startsWith(`${lost}connected again\n${lost}`)).toBe(true);
  expect(code).toBe(77);
});

it('are coloured at a terminal, and JSON is never', async () => {
  const { stdout } = await tailOf([LINE, { ...LINE, status: 200, outcome: 'hit' }], true);
  const [bad = '', good = ''] = stdout.split('\n');
  expect(bad).toContain('\u001b[31m502\u001b[0m  \u001b[31merror');
  expect(good).toContain('\u001b[32m200\u001b[0m  \u001b[32mhit');
  expect(stdout).not.toContain('\u001b[2J');
  const { stdout: json } = await tailOf([LINE], true, ['--json']);
  expect([JSON.parse(json), json.includes('\u001b')]).toEqual([LINE, false]);
});

it('a failed request is shown by its id with its cause', async () => {
  const found = {
    ...LINE,
    path: '/api/v1/x',
    status: 503,
    code: 'upstream_circuit_open',
    cause: 'status 500',
    report: {
      ...{ endpoint: 'campaigns/get', advertiserId: '7', from: '2026-11-01', to: '2026-11-30' },
      ...{ split: ['date', 'campaign'], target: "/api/v1/report/campaigns/get?advertiserId=7&a='" },
    },
  };
  let asked: string | undefined;
  const server = createServer((request, response) => {
    asked = request.url;
    response.setHeader('content-type', 'application/json').end(JSON.stringify(found));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { stdout, code } = await runCli(['requests', 'show', 'r1', '--url', url], { ADMIN_TOKEN: 'x' }, '');
  expect([code, asked]).toEqual([0, '/admin/v1/requests/r1']);
  expect(stdout).toMatch(/^status +503 upstream_circuit_open \(status 500\)$/m);
  expect(stdout).toMatch(/^request +GET \/api\/v1\/x$/m);
  expect(stdout).toMatch(
    /^report +campaigns\/get by date, campaign\nadvertiser +7\nperiod +2026-11-01 to 2026-11-30\nto repeat +curl -H "x-api-key: \$DSP_GATEWAY_KEY" "\$GATEWAY_URL"'\/api\/v1\/report\/campaigns\/get\?advertiserId=7&a=%27'$/m,
  );
});

it('failed requests are listed with what was asked, by whom, and their ids', async () => {
  const period = { from: '2026-11-01', to: '2026-11-30' };
  const report = { endpoint: 'campaigns/get', advertiserId: '7', split: ['campaign'], ...period };
  const failed = { ...LINE, path: '/x', code: 'upstream_error', cause: 'status 500', report };
  const refused = { ...LINE, path: '/y', team: null, code: 'missing_api_key', requestId: 'r2' };
  let asked: string | undefined;
  const server = createServer((request, response) => {
    asked = request.url;
    const requests = [failed, refused];
    response
      .setHeader('content-type', 'application/json')
      .end(JSON.stringify({ requests, more: 4, searched: 1, processes: 2 }));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const options = ['--failed', '--team', 'growth', '--since', '2026-11-21', '--limit', '2', '--url', url];
  const { stdout, code } = await runCli(['requests', 'list', ...options], { ADMIN_TOKEN: 'x' }, '');
  expect([code, new URLSearchParams(asked?.split('?')[1]).toString().split('&').sort()]).toEqual([
    0,
    ['limit=2', 'outcome=failed', 'since=2026-11-21', 'team=growth'],
  ]);
  const rows = stdout.split('\n').map((row) => row.replaceAll(/ {2,}/g, ' | ').trim());
  expect(rows.slice(2)).toEqual([
    '2026-11-21T12:00:00.123Z | growth | 502 | upstream_error (status 500) | campaigns/get by campaign | 7 | 2026-11-01 to 2026-11-30 | r1',
    '2026-11-21T12:00:00.123Z | - | 502 | missing_api_key | /y | - | - | r2',
    'and 4 more: raise --limit',
    '1 of 2 processes answered in time.',
    '',
  ]);
});
