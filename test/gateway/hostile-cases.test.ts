/** Cases of docs/security.md that no other test looks at by themselves. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ADMIN_TOKEN,
  outcomeOf,
  REPORT,
  type SimulatedGateway,
  startGateway,
} from '../support/start-gateway.js';
import { FINAL } from './reports.js';

let gateway: SimulatedGateway;
let key: string;

beforeAll(async () => {
  gateway = await startGateway();
  key = await gateway.addTeam();
});
afterAll(() => gateway.close());

describe('a key', () => {
  it.each(['x-api-key', 'api_key', 'access_token', 'authorization', 'key'])(
    'in the query (%s) is none, and is in no log line',
    async (name) => {
      const reply = await gateway.call(`${REPORT}?${FINAL}&${name}=${key}`);
      expect(outcomeOf(reply)).toBe('401 missing_api_key');
      expect(reply.text).not.toContain(key);
      expect(gateway.logText).not.toContain(key);
    },
  );
});

describe('the other plane', () => {
  it('is not on the data plane, whoever asks', async () => {
    for (const path of ['/admin/v1/status', '/admin/v1/teams', '/metrics', '/admin/v1/token'])
      for (const headers of [{ authorization: `Bearer ${ADMIN_TOKEN}` }, { 'x-api-key': key }])
        expect([path, outcomeOf(await gateway.call(path, { headers }))]).toEqual([path, '404 not_found']);
  });

  it('takes no team key, in either header, by any method', async () => {
    for (const headers of [{ authorization: `Bearer ${key}` }, { 'x-api-key': key }])
      for (const method of ['GET', 'HEAD', 'POST', 'DELETE'] as const) {
        const { statusCode } = await gateway.admin.inject({ method, url: '/admin/v1/teams', headers });
        expect([method, statusCode]).toEqual([method, expect.toBeOneOf([401, 405])]);
      }
  });
});

describe('an address that looks like a file', () => {
  it('is a report of its own name, for its caller alone, and never answered from another one’s entry', async () => {
    await gateway.report(key, FINAL);
    const calls = gateway.simulator.callCount;
    for (const path of [`${REPORT}.css`, `${REPORT}/x.css`, `${REPORT}.js`]) {
      const reply = await gateway.call(`${path}?${FINAL}`, { key });
      expect(reply.headers['cache-status'] ?? 'none').not.toMatch(/hit/);
      expect(reply.headers['cache-control']).toMatch(/private|no-store/);
      expect((await gateway.call(`${path}?${FINAL}`)).status).toBe(401);
    }
    expect(gateway.simulator.callCount).toBe(calls + 3);
  });
});

describe('headers that a platform could be told by', () => {
  it('change neither the question nor the answer', async () => {
    const plain = await gateway.report(key, FINAL);
    const calls = gateway.simulator.callCount;
    const reply = await gateway.report(key, FINAL, {
      headers: {
        ...{
          forwarded: 'host=evil',
          'x-forwarded-host': 'evil',
          'x-original-url': '/admin',
          'x-rewrite-url': '/x',
        },
        ...{ 'x-http-method-override': 'DELETE', 'x-host': 'evil', cookie: 'a=b', 'accept-language': 'de' },
      },
    });
    expect([reply.status, reply.text, gateway.simulator.callCount]).toEqual([200, plain.text, calls]);
  });
});
