/** `dsp-gateway changes`: what it shows of the feed, and how it follows a gateway that comes and goes. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { changesScene, type FeedMessage } from '../gateway/changes-scene.js';
import { BY_DATE } from '../gateway/history-scene.js';
import { runCli } from './run-cli.js';

async function scene() {
  const all = await changesScene();
  const { gateway, key } = all;
  await gateway.data.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => gateway.data.server.closeAllConnections());
  const GATEWAY_URL = `http://127.0.0.1:${(gateway.data.server.address() as AddressInfo).port}`;
  const cli = (...args: string[]) => runCli(['changes', ...args], { GATEWAY_URL, DSP_GATEWAY_KEY: key });
  return { ...all, cli };
}

const offsetIn = (stderr: string): string => /^to go on: --since (\S+)$/m.exec(stderr)?.[1] ?? '';

describe('dsp-gateway changes', () => {
  it('shows each change as a line, with what happened in words, and the offset to go on from', async () => {
    const { ask, restated, now, cli } = await scene();
    const since = await now();
    await ask(BY_DATE);
    const first = await cli('--since', since, '--advertiser', '1');
    expect(first.code).toBe(0);
    const lines = first.stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[1]).toMatch(
      /^2026-11-2\d \d\d:\d\d:\d\d {2}first seen {17}campaigns\/get\?advertiserId=1&byDate=1 {2}2026-11-18 {2}impressions \d+, .*spent [\d.]+/,
    );
    const next = offsetIn(first.stderr);
    await restated(BY_DATE);
    const second = await cli('--since', next);
    expect(second.stdout).toMatch(
      /^\S+ \S+ {2}corrected by the platform {2}campaigns\/get\?advertiserId=1&byDate=1 {2}2026-11-18 {2}.*spent [\d.]+ → [\d.]+.*\n$/,
    );
    expect((await cli('--since', offsetIn(second.stderr))).stdout).toBe('');
    expect((await cli('--since', since, '--advertiser', '2')).stdout).toBe('');
    expect((await cli()).stdout).toContain(second.stdout);
  });

  it('gives the messages of the feed, one a line, with --json, and their rows with --rows', async () => {
    const { ask, now, follow, cli } = await scene();
    const since = await now();
    await ask(BY_DATE);
    const { stdout } = await cli('--since', since, '--json', '--rows', '--split', 'date');
    const lines = stdout.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as FeedMessage)).toEqual(
      (await follow(since, '&rows=1')).messages,
    );
  });

  it('says what is wrong with what was typed, and what to do once an offset is too old', async () => {
    const { cli } = await scene();
    expect((await cli('--rows')).code).toBe(64);
    expect((await cli('--csv')).code).toBe(64);
    expect((await cli('--since', 'a b')).code).toBe(65);
    const wrong = await cli('--series', 'short');
    expect([wrong.code, wrong.stderr]).toEqual([65, expect.stringContaining('--series must be')]);
    const old = await cli('--since', 'other_000000000000000-000000000_AAAAAA_99');
    expect([old.code, old.stdout]).toEqual([3, '']);
    expect(old.stderr).toContain('dsp-gateway changes --since now');
    expect(old.stderr).not.toContain('to go on');
    const away = await runCli(['changes', '--follow', '--url', 'http://127.0.0.1:1'], {
      DSP_GATEWAY_KEY: 'k',
    });
    expect(away.code).toBe(69);
  });
});

const message = (kind: string, more: object = {}): object => ({
  type: 'day',
  key: 'AAAAAAAAAAAAAAAAAAAAAA 2026-11-18',
  value: { report: 'advertiserId=1\u001b[2J', endpoint: 'campaigns/get', totals: { spent: '5' } },
  old_value: { revision: 'a', totals: { spent: '3', clicks: '2' } },
  headers: { operation: 'update', timestamp: '2026-11-21T12:00:00.000Z', kind, ...more },
});
const GRANT = {
  type: 'grant',
  key: '9',
  value: { advertiserId: 9 },
  headers: { operation: 'insert', timestamp: '2026-11-21T12:00:00.000Z' },
};

/** Answers request by request; the queries that were asked are in `asked`. */
async function gatewayOf(answers: readonly ((response: ServerResponse) => void)[]) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(String(request.url?.split('?')[1]));
    answers[Math.min(asked.length, answers.length) - 1]?.(response);
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const cli = (...args: string[]) => runCli(['changes', '--url', url, ...args], { DSP_GATEWAY_KEY: 'k' });
  return { asked, cli };
}

const news =
  (offset: string, ...messages: object[]) =>
  (response: ServerResponse) =>
    response
      .writeHead(200, { 'stream-next-offset': offset, 'stream-cursor': '7' })
      .end(JSON.stringify(messages));
const quiet = (offset: string) => (response: ServerResponse) =>
  response.writeHead(204, { 'stream-next-offset': offset, 'stream-cursor': '8' }).end();
const refusal =
  (status: number, code: string, headers: Record<string, string> = {}) =>
  (response: ServerResponse) =>
    response
      .writeHead(status, { 'content-type': 'application/problem+json', ...headers })
      .end(JSON.stringify({ title: code, status, detail: `It is ${code}.`, help: 'Wait.', code }));
const TOO_OLD = refusal(410, 'cursor_too_old');

describe('dsp-gateway changes --follow', () => {
  it('goes on from the last offset after a limit, a restart and a lost connection, and ends where that is gone', async () => {
    const { asked, cli } = await gatewayOf([
      refusal(429, 'rate_limited', { 'retry-after': '0' }),
      news('o1', message('first')),
      quiet('o2'),
      refusal(503, 'not_ready', { 'retry-after': '0' }),
      (response) => response.destroy(),
      news('o3', GRANT),
      TOO_OLD,
    ]);
    const { code, stdout, stderr } = await cli('--follow', '--advertiser', '1,2');
    expect(stdout.split('\n')).toEqual([
      expect.stringContaining('first seen'),
      '2026-11-21 12:00:00  advertiser 9 may be read now',
      '',
    ]);
    const query = (offset: string, cursor = '') =>
      `offset=${offset}${offset === 'now' ? '' : '&live=long-poll'}${cursor && `&cursor=${cursor}`}&advertiserId=1%2C2`;
    expect(asked).toEqual([
      query('now'),
      query('now'),
      query('o1', '7'),
      ...[1, 2, 3].map(() => query('o2', '8')),
      query('o3', '7'),
    ]);
    expect(stderr.split('\n').slice(0, 4)).toEqual([
      'It is rate_limited. Next try in 1 s.',
      'answered again',
      'It is not_ready. Next try in 1 s.',
      'answered again',
    ]);
    expect([code, stderr]).toEqual([3, expect.stringContaining('--since now')]);
  });

  it('ends at Ctrl-C without an error, and says where to go on', async () => {
    const { cli } = await gatewayOf([
      news('o1', message('first')),
      () => void process.emit('SIGINT', 'SIGINT'),
    ]);
    const { code, stderr } = await cli('--follow', '--since', '-1');
    expect([code, stderr]).toEqual([0, 'to go on: --since o1\n']);
  });

  it('names what happened, and lets no text of others act on the terminal', async () => {
    const kinds = ['restated', 'final', 'reopened', 'void', 'erased'].map((kind) => message(kind));
    const { cli } = await gatewayOf([
      news('o1', ...kinds, message('restated', { method: true }), message('restated', { afterFinal: true })),
      TOO_OLD,
    ]);
    const { stdout } = await cli('--follow');
    const rest = '  campaigns/get?advertiserId=1\ufffd[2J  2026-11-18  spent 3 → 5, clicks 2 → –';
    const at = '2026-11-21 12:00:00  ';
    expect(stdout.split('\n')).toEqual([
      `${at}corrected by the platform${rest}`,
      `${at}final                    ${rest}`,
      `${at}no longer final          ${rest}`,
      `${at}wrong, withdrawn         ${rest}`,
      `${at}erased                   ${rest}`,
      `${at}fetched with another token or other columns${rest}`,
      `${at}corrected by the platform, after it was final${rest}`,
      '',
    ]);
  });
});
