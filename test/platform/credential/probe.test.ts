import type { ServerResponse } from 'node:http';
import { Agent } from 'undici';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { probeInTurn, probeToken } from '../../../src/platform/credential/verify-token.js';
import { saysError } from '../../../src/reports/rows/flaws.js';
import { startSimulator } from '../../../src/simulator/simulator.js';
import type { CallReport } from '../../../src/telemetry/trace.js';
import { deadUrl, startHttpPlatform } from '../../support/raw-platform.js';
import { createStandingClock } from '../../support/test-clock.js';
import { PROBE } from './credential-harness.js';

/** Calls that were reported, with team, outcome and status. */
let reported: string[] = [];
beforeEach(() => {
  reported = [];
});

/** Waits longer than a loaded machine takes, where no silence is tested. */
function probe(baseUrl: URL, token = 'token-to-prove', target = '/api/v1/x?a=1', timeoutMs = 60_000) {
  const agent = new Agent();
  onTestFinished(() => agent.destroy());
  const rules = { baseUrl, loginPaths: ['/login'] };
  const onCall = (call: CallReport) => void reported.push(`${call.team} ${call.outcome} ${call.status}`);
  const clock = createStandingClock();
  return probeToken(target, token, { agent, rules, timeoutMs, saysError, clock, onCall });
}
const answer =
  (status: number, headers: Record<string, string> = {}) =>
  (_request: unknown, response: ServerResponse) =>
    void response.writeHead(status, headers).end('{}');

describe('the probe', () => {
  it('is one GET with the token, below the base path', async () => {
    const { url, seen } = await startHttpPlatform(answer(200));
    expect(await probe(new URL('/dsp/', url))).toEqual({
      outcome: 'accepted',
      reason: 'the platform answered the probe with status 200',
      isSilent: false,
      isOfReport: false,
      platformNowMs: expect.any(Number),
    });
    expect(seen).toMatchObject([
      {
        method: 'GET',
        url: '/dsp/api/v1/x?a=1',
        headers: { authorization: 'Bearer token-to-prove', accept: 'application/json' },
      },
    ]);
    expect(seen[0]?.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each([
    [200, {}, 'accepted'],
    [204, {}, 'accepted'],
    [401, {}, 'refused'],
    [302, { location: '/login' }, 'refused'],
    [302, { location: '/elsewhere' }, 'unknown'],
    [403, {}, 'unknown'],
    [404, {}, 'unknown'],
    [422, {}, 'unknown'],
    [429, { 'retry-after': '5' }, 'unknown'],
    [500, {}, 'unknown'],
    [503, {}, 'unknown'],
    // A login page with status 200 must not prove a token.
    [200, { 'content-type': 'text/html; charset=UTF-8' }, 'unknown'],
    [200, { 'content-type': 'application/xhtml+xml' }, 'unknown'],
  ] as const)('answered with %i %j is %s', async (status, headers, outcome) => {
    const { url } = await startHttpPlatform(answer(status, headers));
    const result = await probe(url);
    expect(result.outcome).toBe(outcome);
    expect(result.reason).toContain(String(status));
  });

  it.each([
    ['{"error":"Unauthenticated."}', 'unknown'],
    ['{"success":false,"message":"invalid token"}', 'unknown'],
    ['{"message":"Unauthenticated."}', 'unknown'],
    ['{"status":401,"data":[]}', 'unknown'],
    ['[]', 'accepted'],
    ['{"data":[],"message":"ok"}', 'accepted'],
    ['{"error":null,"data":[{"date":"2026-11-01","impressions":5}]}', 'accepted'],
    ['[{"error":"none","impressions":5}]', 'accepted'],
    ['not json', 'accepted'],
    ['', 'accepted'],
    [`[{"error":"${'x'.repeat(70_000)}"}]`, 'accepted'],
  ])('takes %s under status 200 for %s', async (body, outcome) => {
    const { url } = await startHttpPlatform((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    });
    expect((await probe(url)).outcome).toBe(outcome);
  });

  it('does not wait for a body, however long it is', async () => {
    const { url, connections } = await startHttpPlatform((_request, response) => {
      response.writeHead(200).write('x');
    });
    expect((await probe(url)).outcome).toBe('accepted');
    await expect.poll(() => connections.size).toBe(0);
  });

  it.each([
    ['nobody listens', async () => deadUrl()],
    [
      'the connection is reset',
      async () =>
        (await startHttpPlatform((_request, response) => void response.socket?.resetAndDestroy())).url,
    ],
  ] as const)('proves nothing when %s', async (_what, start) => {
    const result = await probe(await start());
    expect(result).toMatchObject({ outcome: 'unknown', isSilent: false });
    expect(result.reason).toMatch(/^the probe failed: /);
    expect(result.reason).not.toContain('token-to-prove');
  });

  it.each([
    [500, 'application/json', '{}', 1, 'failed'],
    [503, 'application/json', '{}', 1, 'failed'],
    [408, 'application/json', '{}', 1, 'failed'],
    [429, 'application/json', '{}', 1, 'rate-limited'],
    [302, 'application/json', '{}', 1, 'invalid'],
    [200, 'text/html', '<p>Maintenance</p>', 1, 'invalid'],
    [403, 'application/json', '{}', 3, 'rejected'],
    [422, 'application/json', '{}', 3, 'rejected'],
    [200, 'application/json', '{"error":"no such advertiser"}', 3, 'answer'],
  ])(
    'answered with %i, %s %s: %i of three reports are requested, each reported as %s',
    async (status, type, body, calls, outcome) => {
      const { url, seen } = await startHttpPlatform((_request, response) => {
        response.writeHead(status, { 'content-type': type }).end(body);
      });
      await probeInTurn('token', ['/1', '/2', '/3'], (target) => probe(url, 'token', target));
      expect(seen).toHaveLength(calls);
      expect(reported).toEqual(Array(calls).fill(`gateway ${outcome} ${status}`));
    },
  );

  it('makes no further call where nobody listens, and reports the one', async () => {
    const baseUrl = await deadUrl();
    await probeInTurn('token', ['/1', '/2'], (target) => probe(baseUrl, 'token', target));
    expect(reported).toEqual(['gateway network null']);
  });

  it('proves nothing when nothing comes, and says how long it waited', async () => {
    const { url } = await startHttpPlatform(() => {});
    expect(await probe(url, undefined, undefined, 50)).toEqual({
      outcome: 'unknown',
      reason: 'the platform did not answer within 0.05 s',
      isSilent: true,
      isOfReport: false,
      platformNowMs: null,
    });
  });

  it('tells a good token from a bad one at the simulated platform, whichever way that refuses', async () => {
    for (const unauthenticated of ['auto', 'redirect', 'json', 'html'] as const) {
      const simulator = await startSimulator({ switches: { unauthenticated } });
      onTestFinished(() => simulator.close());
      const url = new URL(simulator.url);
      expect((await probe(url, simulator.token, PROBE)).outcome).toBe('accepted');
      expect((await probe(url, 'another', PROBE)).outcome).toBe('refused');
    }
  });
});
