import { describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, type SimulatedGateway, withGateway } from '../support/start-gateway.js';
import { HOUR } from '../support/test-clock.js';
import { FINAL, RESTATING } from './reports.js';

const lines = (gateway: SimulatedGateway) =>
  gateway.log.filter(({ plane, msg }) => plane === 'data' && msg === 'request');

describe('the log line of a request', () => {
  it('says who asked for what, how it was answered, and what it cost', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam({ id: 'growth' });
    const reply = await gateway.report(key, `${FINAL}&secretish=1`);
    const [line] = lines(gateway);
    expect(line).toEqual({
      level: 'info',
      time: expect.any(String),
      pid: process.pid,
      reqId: reply.headers['x-request-id'],
      plane: 'data',
      method: 'GET',
      path: '/api/v1/report/campaigns/get',
      status: 200,
      ms: expect.any(Number),
      team: 'growth',
      key: expect.stringMatching(/^key_/),
      outcome: 'miss',
      platformCalls: 1,
      platformMs: expect.any(Number),
      rows: expect.any(Number),
      msg: 'request',
    });
    expect(gateway.logText).not.toContain('secretish');
  });

  it('is one for each request, whatever came of it', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam({ id: 'growth', advertisers: [1] });
    await gateway.report(key, RESTATING);
    await gateway.report(key, RESTATING);
    await gateway.report(key, RESTATING, { headers: { 'if-none-match': '*' } });
    await gateway.report(key, RESTATING, { method: 'HEAD' });
    gateway.clock.advance(HOUR);
    await gateway.report(key, RESTATING);
    await gateway.services.settled();
    await gateway.report(key, 'advertiserId=2');
    await gateway.call('/api/v1/report/campaigns/get');
    await gateway.call('/api/v1//x');
    await gateway.call('/nothing');
    gateway.simulator.fault({ kind: 'status', status: 500 });
    await gateway.report(key, 'advertiserId=1');
    expect(
      lines(gateway).map(({ status, outcome, code, team, level }) => [status, outcome, code, team, level]),
    ).toEqual([
      [200, 'miss', undefined, 'growth', 'info'],
      [200, 'hit', undefined, 'growth', 'info'],
      [304, 'hit', undefined, 'growth', 'info'],
      [200, 'hit', undefined, 'growth', 'info'],
      [200, 'stale', undefined, 'growth', 'info'],
      [403, 'error', 'advertiser_forbidden', 'growth', 'info'],
      [401, 'error', 'missing_api_key', null, 'info'],
      [400, 'error', 'invalid_path', null, 'info'],
      [404, 'error', 'not_found', null, 'info'],
      [502, 'error', 'upstream_error', 'growth', 'warn'],
    ]);
  });

  it('counts every try of its platform calls', async () => {
    const gateway = await withGateway({ config: { platform: { retry: { baseMs: 1 } } } });
    const key = await gateway.addTeam();
    gateway.simulator.fault({ kind: 'status', status: 503, times: 2 });
    await gateway.report(key, FINAL);
    await gateway.report(key, `${RESTATING}&_totals=1&byDate=1`);
    expect(lines(gateway).map(({ platformCalls }) => platformCalls)).toEqual([3, 2]);
  });

  it('says why an answer of the platform was refused, which the caller is not told', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    gateway.simulator.fault({ kind: 'html' });
    const reply = await gateway.report(key, FINAL);
    expect(lines(gateway)[0]?.cause).toBe('the answer is an HTML page');
    expect(reply.text).not.toContain('HTML');
  });

  it('never holds a key, a token or a query, however they were sent', async () => {
    const gateway = await withGateway({ switches: { echoToken: true } });
    const key = await gateway.addTeam();
    await gateway.call(`/api/v1/report/campaigns/get?api_key=${key}`);
    await gateway.call(`/api/v1/${key}`, { key });
    await gateway.call(`/${key}/x`, { headers: { authorization: `Bearer ${key}x` } });
    await gateway.call('/api/v1/campaign/get', { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });
    await gateway.report(key, FINAL);
    await gateway.report(key, `${FINAL}&_format=raw`);
    gateway.simulator.fault({ kind: 'status', status: 422, message: `token ${gateway.simulator.token}` });
    await gateway.report(key, RESTATING);
    gateway.simulator.fault({ kind: 'status', status: 500, message: `token ${gateway.simulator.token}` });
    await gateway.report(key, 'advertiserId=3');
    for (const secret of [key, key.slice(4, 36), gateway.simulator.token, ADMIN_TOKEN])
      expect(gateway.logText).not.toContain(secret);
    expect(lines(gateway)).toHaveLength(8);
  });
});
