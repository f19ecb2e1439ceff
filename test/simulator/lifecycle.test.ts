import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { createCalls, LISTED_CALLS } from '../../src/simulator/calls.js';
import { BODY_LIMIT_BYTES } from '../../src/simulator/read-request.js';
import { startSimulator } from '../../src/simulator/simulator.js';
import { createStandingClock } from '../support/test-clock.js';
import { call, REPORT, rowsOf, start } from './support.js';

describe('a simulator', () => {
  it('lives below its base path, and nowhere else', async () => {
    const simulator = await start({ basePath: '/dsp/eu' });
    expect(simulator.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/dsp\/eu$/);
    expect((await call(simulator, REPORT)).status).toBe(200);
    expect((await call(simulator, '/_sim')).status).toBe(200);
    const login = await call(simulator, REPORT, { headers: { authorization: '', accept: '*/*' } });
    expect(login.headers.location).toBe(`${simulator.url}/login`);
    const root = { ...simulator, url: new URL(simulator.url).origin };
    for (const path of [REPORT, '/_sim', '/dsp/eux']) {
      const outside = await call(root, path);
      expect(outside.status).toBe(404);
      expect(outside.headers['content-type']).toBe('text/html; charset=UTF-8');
    }
  });

  it('listens on the port and host it is given, or says why not', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = other.address();
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
    await expect(startSimulator({ port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    other.close();
    await once(other, 'close');
    const simulator = await start({ port, host: 'localhost' });
    expect(simulator.url).toBe(`http://localhost:${port}`);
    expect((await call(simulator, REPORT)).status).toBe(200);
  });

  it.each([
    [{ seed: 1.5 }, /^seed/],
    [{ basePath: 'dsp' }, /^basePath/],
    [{ basePath: '/dsp/' }, /^basePath/],
    [{ switches: { rowCap: -1 } }, /^rowCap/],
  ])('does not start with %j', async (options, message) => {
    await expect(startSimulator(options)).rejects.toThrow(message);
  });

  it('refuses a body that is too large, and lives on', async () => {
    const simulator = await start();
    const body = 'x'.repeat(BODY_LIMIT_BYTES + 1);
    expect((await call(simulator, REPORT, { method: 'POST', body })).status).toBe(413);
    expect(simulator.calls).toMatchObject([{ body: '', status: 413 }]);
    expect((await call(simulator, REPORT)).status).toBe(200);
  });

  it('reports a defect of its own as the framework would, and lives on', async () => {
    const clock = createStandingClock();
    const simulator = await start({ clock });
    clock.moveTo(Number.NaN);
    const warned = once(process, 'warning');
    const reply = await call(simulator, '/_sim');
    expect(reply.status).toBe(500);
    expect(reply.json()).toEqual({ message: 'Server Error' });
    expect((await warned)[0]).toBeInstanceOf(RangeError);
    clock.moveTo(0);
    expect((await call(simulator, REPORT)).status).toBe(200);
  });

  it('keeps the newest calls and counts them all', () => {
    const calls = createCalls();
    const { list } = calls;
    for (let at = 0; at <= 2 * LISTED_CALLS; at++) {
      calls.record({ at, method: 'GET', path: '/', url: '/', query: {}, headers: {}, body: '' });
    }
    expect(calls.total).toBe(2 * LISTED_CALLS + 1);
    expect(list).toHaveLength(LISTED_CALLS + 1);
    expect(list.at(-1)?.at).toBe(2 * LISTED_CALLS);
    expect(calls.list).toBe(list);
  });
});

it('two simulators of one seed share their data and nothing else', async () => {
  const clock = createStandingClock();
  const options = { clock, seed: 4, switches: { rateLimitPerMinute: 3 } };
  const [one, two] = [await start(options), await start(options)];
  const query = '?advertiserId=1&byDate=1';
  const rows = await rowsOf(two, query);
  expect(await rowsOf(one, query)).toEqual(rows);
  one.set({ names: 'camel' });
  one.fault({ kind: 'status', times: 0 });
  one.restate({});
  one.setOffset(3_600_000);
  const extra = one.issueToken();
  one.revoke(one.token);
  await call(one, REPORT);
  expect(await rowsOf(two, query)).toEqual(rows);
  expect((await call(two, REPORT, { headers: { authorization: `Bearer ${extra}` } })).status).toBe(401);
  expect(two.faults).toEqual([]);
  expect(two.offsetMs).toBe(0);
  expect(two.calls).toHaveLength(3);
  // One call left of its own three, whatever the other has used.
  expect((await call(two, REPORT)).headers['x-ratelimit-remaining']).toBe('0');
});
