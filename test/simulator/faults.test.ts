import { once } from 'node:events';
import { connect } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { FAULT_KINDS, type FaultKind } from '../../src/simulator/faults.js';
import type { Simulator } from '../../src/simulator/simulator-api.js';
import { waitFor } from '../support/wait-for.js';
import { call, REPORT, start } from './support.js';

const ask = (simulator: Simulator, path = REPORT) => call(simulator, path);

/** What comes over the wire until the connection ends, or until `enough` has come. */
async function listenTo(simulator: Simulator, enough: (heard: string) => boolean): Promise<string> {
  const { hostname, port, host } = new URL(simulator.url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.write(`GET ${REPORT} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${simulator.token}\r\n\r\n`);
  let heard = '';
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    heard += chunk.toString('latin1');
    if (enough(heard)) break;
  }
  socket.destroy();
  return heard;
}

/** One test for each kind; the type makes a kind without one an error. */
const TESTS: Record<FaultKind, (simulator: Simulator) => Promise<void>> = {
  async status(simulator) {
    simulator.fault({ kind: 'status' });
    simulator.fault({ kind: 'status', status: 429, message: 'slow down', retryAfterS: 7 });
    const plain = await ask(simulator);
    expect(plain.status).toBe(500);
    expect(plain.json()).toEqual({ message: 'Server Error' });
    expect(plain.headers).not.toHaveProperty('retry-after');
    const planned = await ask(simulator);
    expect(planned.status).toBe(429);
    expect(planned.json()).toEqual({ message: 'slow down' });
    expect(planned.headers['retry-after']).toBe('7');
    expect(simulator.calls.map(({ status }) => status)).toEqual([500, 429]);
  },
  async html(simulator) {
    simulator.fault({ kind: 'html' });
    simulator.fault({ kind: 'html', status: 503, retryAfterS: 30 });
    const page = await ask(simulator);
    expect(page.status).toBe(200);
    expect(page.headers['content-type']).toBe('text/html; charset=UTF-8');
    expect(page.text).toMatch(/^<!DOCTYPE html>/);
    expect(await ask(simulator)).toMatchObject({ status: 503, headers: { 'retry-after': '30' } });
  },
  async redirect(simulator) {
    simulator.fault({ kind: 'redirect' });
    simulator.fault({ kind: 'redirect', status: 307, location: '/login' });
    expect(await ask(simulator)).toMatchObject({
      status: 302,
      headers: { location: /^http:\/\/169\.254\./ },
    });
    expect(await ask(simulator)).toMatchObject({ status: 307, headers: { location: '/login' } });
  },
  async garbage(simulator) {
    simulator.fault({ kind: 'garbage' });
    const headers = { authorization: `Bearer ${simulator.token}` };
    const { statusCode, headers: answered, body } = await request(simulator.url + REPORT, { headers });
    const bytes = Buffer.from(await body.arrayBuffer());
    expect(statusCode).toBe(200);
    expect(answered['content-type']).toBe('application/json');
    expect(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes)).toThrow(TypeError);
    expect(() => JSON.parse(bytes.toString('latin1'))).toThrow(SyntaxError);
  },
  async oversize(simulator) {
    simulator.fault({ kind: 'oversize', bytes: 3_000_000 });
    const { text, json, headers } = await ask(simulator);
    expect(text).toHaveLength(3_000_000);
    expect(json()).toHaveProperty('data');
    expect(headers).not.toHaveProperty('content-length');
    simulator.fault({ kind: 'oversize' });
    const most = await listenTo(simulator, (heard) => heard.length > 1_000_000);
    expect(most.length).toBeGreaterThan(1_000_000);
  },
  async truncate(simulator) {
    const whole = await ask(simulator);
    simulator.fault({ kind: 'truncate' });
    simulator.fault({ kind: 'truncate', bytes: 10 });
    for (const bytes of [Math.floor(Buffer.byteLength(whole.text) / 2), 10]) {
      const heard = await listenTo(simulator, () => false);
      const [head = '', body = ''] = heard.split('\r\n\r\n');
      expect(head).toContain(`content-length: ${whole.headers['content-length']}`);
      expect(body).toHaveLength(bytes);
      expect(Buffer.from(whole.text).toString('latin1').startsWith(body)).toBe(true);
    }
    simulator.fault({ kind: 'truncate', bytes: 0 });
    expect(await listenTo(simulator, () => false)).toMatch(/\r\n\r\n$/);
    simulator.fault({ kind: 'truncate' });
    await expect(ask(simulator)).rejects.toThrow();
  },
  async slow(simulator) {
    const whole = await ask(simulator);
    simulator.fault({ kind: 'slow', bytes: 400, latencyMs: 1 });
    expect((await ask(simulator)).text).toBe(whole.text);
    simulator.fault({ kind: 'slow', latencyMs: 1 });
    const heard = await listenTo(simulator, (text) => /\r\n\r\n.{5}/s.test(text));
    expect(heard).toContain(`content-length: ${whole.headers['content-length']}`);
    expect(heard.length).toBeLessThan(whole.text.length);
    simulator.fault({ kind: 'slow', latencyMs: 3_600_000 });
    expect(await listenTo(simulator, (text) => text.includes('\r\n\r\n'))).toMatch(/\r\n\r\n$/);
  },
  async hang(simulator) {
    simulator.fault({ kind: 'hang' });
    const gone = new AbortController();
    const headers = { authorization: `Bearer ${simulator.token}` };
    const asked = request(simulator.url + REPORT, { headers, signal: gone.signal });
    await waitFor('the call', () => simulator.callCount === 1);
    const silence = new Promise((resolve) => setTimeout(resolve, 100, 'silence'));
    expect(await Promise.race([asked, silence])).toBe('silence');
    gone.abort(new Error('the caller has gone'));
    await expect(asked).rejects.toThrow('the caller has gone');
    expect(simulator.calls.map(({ status }) => status)).toEqual([0]);
  },
  async 'hang-headers'(simulator) {
    simulator.fault({ kind: 'hang-headers', latencyMs: 1 });
    const heard = await listenTo(simulator, (text) => text.includes('x-line-5'));
    expect(heard).toMatch(/^HTTP\/1\.1 200 OK\r\nserver: nginx\r\nx-line-1: and so on\r\n/);
    expect(heard).not.toContain('\r\n\r\n');
  },
  async reset(simulator) {
    simulator.fault({ kind: 'reset' });
    await expect(ask(simulator)).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect((await ask(simulator)).status).toBe(200);
  },
};

describe('the fault', () => {
  it.each(Object.keys(FAULT_KINDS))('%s does what it says', async (kind) => {
    await TESTS[kind as FaultKind](await start());
  });

  it('waits when it is told to', async () => {
    const simulator = await start();
    simulator.fault({ kind: 'status', latencyMs: 120 });
    const began = performance.now();
    await ask(simulator);
    expect(performance.now() - began).toBeGreaterThanOrEqual(118);
  });

  it('is never encoded, whatever other answers are', async () => {
    const simulator = await start({ switches: { contentEncoding: 'bomb' } });
    for (const kind of ['html', 'garbage', 'oversize'] as const) {
      simulator.fault({ kind, bytes: 1000 });
      expect((await ask(simulator)).headers).not.toHaveProperty('content-encoding');
    }
  });

  it('of a lost call does not touch the platform; that of a lost answer does', async () => {
    const simulator = await start();
    const countOf = async () => {
      const reply = await call(simulator, '/api/v1/campaign/get', { method: 'POST', json: { userId: 1 } });
      return reply.json<{ meta: { total: number } }>().meta.total;
    };
    const json = {
      userId: 1,
      name: 'x',
      adDomain: 'x.example',
      clickUrl: 'https://x.example',
      dates: { from: '2026-12-01', to: '2026-12-02' },
      country: 'DE',
      bid: 1,
      budget: { daily: 1, total: 2 },
      creativeSetIds: [1],
    };
    const create = () => call(simulator, '/api/v1/campaign/create', { method: 'POST', json });
    const before = await countOf();
    simulator.fault({ kind: 'reset', path: '/create' });
    await expect(create()).rejects.toThrow();
    expect(await countOf()).toBe(before);
    simulator.fault({ kind: 'truncate', path: '/create' });
    await expect(create()).rejects.toThrow();
    expect(await countOf()).toBe(before + 1);
  });
});

it('a caller that leaves in the middle of a body leaves the simulator as it was, without a warning', async () => {
  const simulator = await start();
  const warnings: Error[] = [];
  const note = (warning: Error) => warnings.push(warning);
  process.on('warning', note);
  const { hostname, port } = new URL(simulator.url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.write(`POST ${REPORT} HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"half`);
  socket.end();
  await readText(socket);
  expect((await ask(simulator)).status).toBe(200);
  expect(simulator.calls).toHaveLength(1);
  process.off('warning', note);
  expect(warnings).toEqual([]);
});
