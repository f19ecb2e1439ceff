import type { RequestListener, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { GatewayError } from '../../src/errors.js';
import { createClock } from '../../src/lib/clock.js';
import { createCircuit } from '../../src/platform/circuit.js';
import type { CallKind } from '../../src/platform/client.js';
import { startDeadline } from '../../src/platform/deadline.js';
import { createPace } from '../../src/platform/pace.js';
import { deadUrl, startHttpPlatform, startTcpPlatform } from '../support/raw-platform.js';
import { unlimited } from '../support/unlimited.js';
import { waitFor } from '../support/wait-for.js';
import { createHarness, type HarnessOptions, READ, TOKEN } from './client-harness.js';

/** Answers one after the other; the last one for ever. */
function script(...answers: ((response: ServerResponse) => void)[]): RequestListener {
  let at = 0;
  return (request, response) => {
    request.resume();
    const answer = answers[Math.min(at, answers.length - 1)];
    at += 1;
    answer?.(response);
  };
}
const status =
  (code: number, headers: Record<string, string> = {}, body = '{}') =>
  (response: ServerResponse) =>
    void response.writeHead(code, headers).end(body);
const OK = status(200, {}, 'fine');
const reset = (response: ServerResponse) => response.socket?.resetAndDestroy();

/** A platform that answers so, one after the other, and the client in front of it. */
async function open(answers: Parameters<typeof script>, options: HarnessOptions = {}) {
  const platform = await startHttpPlatform(script(...answers));
  return { ...platform, ...createHarness(platform.url, options) };
}

async function settled(budget: { readonly running: number }): Promise<void> {
  await expect.poll(() => budget.running).toBe(0);
}

describe('a call', () => {
  it('that its caller takes back when its turn has come is not sent, and its slot is free again', async () => {
    const { seen, ask, budget } = await open([OK]);
    const stopped = new GatewayError('writes_stopped');
    const onSlot = () => {
      throw stopped;
    };
    await expect(ask({ onSlot })).rejects.toBe(stopped);
    expect([seen.length, budget.running]).toEqual([0, 0]);
  });

  it('carries the token, a request id and what it was given, below the base path', async () => {
    const { url, seen } = await startHttpPlatform(script(OK));
    const { ask, reports } = createHarness(new URL('/dsp/', url));
    expect(await ask({ target: '/api/v1/x?a=1', headers: { 'accept-encoding': 'gzip' } })).toEqual({
      status: 200,
      text: 'fine',
    });
    expect(seen).toMatchObject([
      {
        method: 'GET',
        url: '/dsp/api/v1/x?a=1',
        headers: {
          authorization: `Bearer ${TOKEN}`,
          accept: 'application/json',
          'accept-encoding': 'gzip',
          'user-agent': 'dsp-gateway/test',
          host: url.host,
        },
      },
    ]);
    expect(seen[0]?.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(reports).toMatchObject([{ team: 'growth', method: 'GET', outcome: 'answer', status: 200 }]);
    expect(reports[0]?.durationMs).toBeGreaterThan(0);
  });

  it("cannot have the gateway's own headers replaced, in whatever case", async () => {
    const { seen, ask } = await open([OK]);
    for (const spell of [(name: string) => name, (name: string) => name.toUpperCase()]) {
      await ask({
        headers: {
          [spell('authorization')]: 'Bearer callers-own',
          [spell('accept')]: 'text/html',
          [spell('x-request-id')]: 'callers-own',
          [spell('user-agent')]: 'app/1',
        },
      });
    }
    for (const { headers, rawHeaders } of seen) {
      expect(rawHeaders.filter((name) => name.toLowerCase() === 'authorization')).toHaveLength(1);
      expect(headers.authorization).toBe(`Bearer ${TOKEN}`);
      expect(headers.accept).toBe('application/json');
      expect(headers['x-request-id']).not.toBe('callers-own');
      expect(headers['user-agent']).toBe('app/1');
    }
  });

  it('sends a body as it is', async () => {
    const { seen, ask } = await open([OK]);
    await ask({ method: 'POST', kind: 'post-read', body: '{"a":1}' });
    await ask({ method: 'POST', kind: 'write', body: Buffer.from('bytes') });
    await ask({ method: 'PUT', kind: 'write', body: Readable.from(['in ', 'pieces']) });
    expect(seen.map(({ method, body }) => [method, body])).toEqual([
      ['POST', '{"a":1}'],
      ['POST', 'bytes'],
      ['PUT', 'in pieces'],
    ]);
  });

  it('hands a refusal of the request over like an answer', async () => {
    const { ask, reports } = await open([status(422, {}, '{"message":"No."}')]);
    expect(await ask()).toEqual({ status: 422, text: '{"message":"No."}' });
    expect(reports).toMatchObject([{ outcome: 'rejected', status: 422 }]);
  });
});

describe('a failed call', () => {
  const FAILURES = [
    ['502', status(502), 'failed'],
    ['503', status(503), 'failed'],
    ['504', status(504), 'failed'],
    ['a reset', reset, 'network'],
    [
      'half an answer',
      (response: ServerResponse) => {
        response.writeHead(200, { 'content-length': '100' }).write('{"data":');
        setTimeout(() => response.socket?.destroy(), 5);
      },
      'network',
    ],
  ] as const;

  it.each(FAILURES)('is tried again when it only reads: %s', async (_what, fail, outcome) => {
    const { seen, ask, reports, budget } = await open([fail, fail, OK]);
    expect(await ask()).toEqual({ status: 200, text: 'fine' });
    expect(seen).toHaveLength(3);
    expect(reports.map((report) => report.outcome)).toEqual([outcome, outcome, 'answer']);
    await settled(budget);
  });

  it.each(FAILURES)('is tried as often as the settings say, and no more: %s', async (_what, fail) => {
    const { url, seen } = await startHttpPlatform(script(fail));
    for (const attempts of [0, 2]) {
      const before = seen.length;
      const { ask, budget } = createHarness(url, { attempts });
      await expect(ask()).rejects.toMatchObject({ code: 'upstream_error', status: 502 });
      expect(seen.length - before).toBe(attempts + 1);
      await settled(budget);
    }
  });

  it.each(
    FAILURES.flatMap(([what, fail]) =>
      (['post-read', 'write'] as const).map((kind) => [kind, what, fail] as const),
    ),
  )('is never tried again when it is a %s: %s', async (kind, _what, fail) => {
    const { seen, ask, budget } = await open([fail, OK]);
    await expect(ask({ method: 'POST', kind, body: '{}' })).rejects.toMatchObject({ code: 'upstream_error' });
    expect(seen).toHaveLength(1);
    await settled(budget);
  });

  it.each([
    ['500', status(500), 'upstream_error'],
    ['501', status(501), 'upstream_error'],
    ['408', status(408), 'upstream_timeout'],
    ['a redirect elsewhere', status(301, { location: '/elsewhere' }), 'upstream_invalid_response'],
  ] as const)('is not tried again when that would not help: %s', async (_what, fail, code) => {
    const { seen, ask } = await open([fail, OK]);
    await expect(ask()).rejects.toMatchObject({ code });
    expect(seen).toHaveLength(1);
  });

  it('waits as long as the platform asks, when there is time for it', async () => {
    const { seen, ask } = await open([status(503, { 'retry-after': '1' }), OK]);
    const startedMs = performance.now();
    expect((await ask()).status).toBe(200);
    expect(performance.now() - startedMs).toBeGreaterThan(990);
    expect(seen).toHaveLength(2);
  });

  it('says when to repeat: as the platform asks, or when the circuit lets a call through, but not of a write', async () => {
    const advised = async (headers: Record<string, string>, kind: CallKind, leftMs = 0) => {
      const circuit = Object.assign(unlimited().circuit, { leftMs: () => leftMs });
      const { ask } = await open([status(500, headers)], { between: { circuit }, attempts: 0 });
      const error = (await ask({ kind }).catch((thrown: unknown) => thrown)) as GatewayError;
      expect(error.code).toBe('upstream_error');
      return error.options.retryAfterS;
    };
    const asks = (seconds: string) => ({ 'retry-after': seconds });
    expect(await advised(asks('7'), 'read')).toBe(7);
    expect(await advised(asks('99999'), 'read')).toBe(900);
    expect(await advised({}, 'read', 8400)).toBe(9);
    expect(await advised({}, 'read')).toBe(1);
    expect(await advised(asks('7'), 'write', 8400)).toBeUndefined();
  });

  it('says of a platform that is silent to repeat after ten seconds or more, but not of a write', async () => {
    const silent = async (kind: CallKind, answer = status(408)) => {
      const { ask } = await open([answer], { attempts: 0 });
      const error = (await ask({ kind }).catch((thrown: unknown) => thrown)) as GatewayError;
      expect(error.code).toBe('upstream_timeout');
      return error.options.retryAfterS;
    };
    expect(await silent('read')).toBe(10);
    expect(await silent('read', status(408, { 'retry-after': '70' }))).toBe(70);
    expect(await silent('write')).toBeUndefined();
  });

  it('is given up at once when the platform asks for longer than there is time', async () => {
    const { seen, ask } = await open([status(503, { 'retry-after': '3600' }), OK]);
    const startedMs = performance.now();
    await expect(ask()).rejects.toMatchObject({ code: 'upstream_error' });
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    expect(seen).toHaveLength(1);
  });

  it('says that the platform could not be reached, and why in the log alone', async () => {
    const { ask, reports } = createHarness(await deadUrl(), { attempts: 0 });
    const error = (await ask().catch((thrown: unknown) => thrown)) as GatewayError;
    expect(error).toMatchObject({ code: 'upstream_error', status: 502 });
    expect(error.options.detail).not.toContain('ECONNREFUSED');
    expect(error.options.cause).toMatchObject({ code: 'ECONNREFUSED' });
    expect(reports).toMatchObject([{ outcome: 'network', status: null }]);
  });

  it('that was a write on a connection the platform closed meanwhile arrives once at most', async () => {
    let requests = 0;
    const { url } = await startTcpPlatform((socket) => {
      socket.on('data', (bytes) => {
        requests += bytes.toString('latin1').match(/HTTP\/1\.1\r\n/g)?.length ?? 0;
        if (requests === 1) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine');
        else socket.resetAndDestroy();
      });
    });
    const { ask } = createHarness(url);
    await ask();
    await expect(ask({ method: 'POST', kind: 'write', body: '{}' })).rejects.toMatchObject({
      code: 'upstream_error',
    });
    expect(requests).toBe(2);
  });

  it('that cannot be vouched for is not asked again, and is counted', async () => {
    const { seen, client, reports, budget } = await open([OK]);
    const refuse = async () => {
      throw new GatewayError('upstream_invalid_response', { internal: 'not a report' });
    };
    await expect(client.send(READ, refuse)).rejects.toMatchObject({ code: 'upstream_invalid_response' });
    expect(seen).toHaveLength(1);
    expect(reports).toMatchObject([{ outcome: 'invalid', status: 200 }]);
    // The answer was not read; it was let go of all the same.
    await settled(budget);
  });

  it('may be a fault of the gateway itself, which is thrown as it is after the tries', async () => {
    const { client } = await open([OK], { attempts: 0 });
    const broken = new TypeError('a bug');
    const thrown = await client.send(READ, () => Promise.reject(broken)).catch((error: unknown) => error);
    expect((thrown as GatewayError).options.cause).toBe(broken);
  });
});

describe('the deadline', () => {
  it.each([
    ['an answer that never begins', () => {}],
    [
      'headers without an end',
      (response: ServerResponse) => {
        response.socket?.write('HTTP/1.1 200 OK\r\n');
        const timer = setInterval(() => response.socket?.write('x-more: 1\r\n'), 5);
        response.socket?.once('close', () => clearInterval(timer));
      },
    ],
    [
      'one byte at a time',
      (response: ServerResponse) => {
        response.writeHead(200, { 'content-length': '100000' });
        const timer = setInterval(() => response.write('x'), 5);
        response.once('close', () => clearInterval(timer));
      },
    ],
    ['failures that are tried again', status(503)],
  ])('ends %s, and lets go of the connection', async (what, answer) => {
    const { connections, ask, budget, reports } = await open([answer], { attempts: 1_000_000, baseMs: 1 });
    const error = (await ask({ timeoutMs: 150 }).catch((thrown: unknown) => thrown)) as GatewayError;
    // Between two tries, the last failure says more than the end of the time.
    expect(error.code).toMatch(
      what.startsWith('failures') ? /^upstream_(error|timeout)$/ : /^upstream_timeout$/,
    );
    await settled(budget);
    if (error.code === 'upstream_timeout') {
      expect(reports.at(-1)).toMatchObject({ outcome: 'timeout' });
      await expect.poll(() => connections.size).toBe(0);
    }
  });

  it('covers the waiting for a turn', async () => {
    const { seen, ask, budget } = await open([() => {}], { maxConcurrent: 1 });
    const gone = new AbortController();
    const holding = ask({ signal: gone.signal }).catch((error: unknown) => error);
    await waitFor('the first call', () => seen.length > 0);
    await expect(ask({ timeoutMs: 50 })).rejects.toMatchObject({ code: 'upstream_timeout', status: 504 });
    expect(seen).toHaveLength(1);
    expect(budget.queued).toBe(0);
    gone.abort();
    await holding;
    await settled(budget);
  });

  it('covers the waiting for a token, and for another one', async () => {
    const { url } = await startHttpPlatform(script(status(401)));
    const forever = () => new Promise<never>(() => {});
    for (const tokens of [{ current: forever }, { refused: forever }]) {
      const { ask, budget } = createHarness(url, { tokens });
      await expect(ask({ timeoutMs: 200 })).rejects.toMatchObject({ code: 'upstream_timeout' });
      await settled(budget);
    }
  });

  it('is not reached by a caller who is gone before: the call ends with that', async () => {
    const { connections, ask, budget, reports } = await open([() => {}]);
    const gone = new AbortController();
    const asking = ask({ signal: gone.signal });
    await waitFor('a connection', () => connections.size > 0);
    gone.abort(new GatewayError('invalid_request', { internal: 'the caller is gone' }));
    await expect(asking).rejects.toMatchObject({ message: 'the caller is gone' });
    await expect.poll(() => connections.size).toBe(0);
    expect(reports).toMatchObject([{ outcome: 'aborted', status: null }]);
    expect(budget.running).toBe(0);
    await expect(ask({ signal: gone.signal })).rejects.toMatchObject({ message: 'the caller is gone' });
  });
});

describe('a 429', () => {
  it('stops every call until it is over, and is not tried again', async () => {
    const { seen, ask, clock } = await open([status(429, { 'retry-after': '60' }), OK]);
    const limited = { code: 'upstream_rate_limited', status: 503, options: { retryAfterS: 60 } };
    await expect(ask()).rejects.toMatchObject(limited);
    await expect(ask({ team: 'another' })).rejects.toMatchObject(limited);
    await expect(ask({ method: 'POST', kind: 'write' })).rejects.toMatchObject(limited);
    expect(seen).toHaveLength(1);
    clock.advanceMonotonic(60_000);
    expect((await ask()).status).toBe(200);
  });
});

describe('a refused token', () => {
  function tokensOf(...recovered: boolean[]) {
    let current = 1;
    return {
      current: () => ({ id: `tok_${current}`, token: `secret-${current}` }),
      refused: async () => {
        current += 1;
        return recovered.shift() ?? false;
      },
    };
  }

  it.each([
    ['401', status(401)],
    ['a redirect to the login page', status(302, { location: '/login' })],
  ])('is told of, and a read is asked once more with the new one: %s', async (_what, refuse) => {
    // Also where failures are never tried again.
    const options = { tokens: tokensOf(true), attempts: 0 };
    const { seen, ask, refused, reports } = await open([refuse, OK], options);
    expect((await ask()).text).toBe('fine');
    expect(seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer secret-1', 'Bearer secret-2']);
    expect(refused).toEqual(['tok_1']);
    expect(reports.map(({ outcome }) => outcome)).toEqual(['credential-refused', 'answer']);
  });

  it('is asked once more for a POST that reads, with the same body', async () => {
    const { seen, ask } = await open([status(401), OK], { tokens: tokensOf(true) });
    expect((await ask({ method: 'POST', kind: 'post-read', body: '{"a":1}' })).text).toBe('fine');
    expect(seen.map(({ body }) => body)).toEqual(['{"a":1}', '{"a":1}']);
  });

  it.each([
    ['a write', { method: 'POST', kind: 'write', body: '{}' } as const],
    ['a body that streamed', { method: 'POST', kind: 'post-read', body: Readable.from(['{}']) } as const],
  ])('is not asked again for %s', async (_what, call) => {
    const { seen, ask, refused } = await open([status(401), OK], { tokens: tokensOf(true) });
    await expect(ask(call)).rejects.toMatchObject({ code: 'credential_unavailable', status: 503 });
    expect(seen).toHaveLength(1);
    expect(refused).toEqual(['tok_1']);
  });

  it('that is refused again ends the call: never a third time', async () => {
    const { seen, ask, refused } = await open([status(401)], {
      tokens: tokensOf(true, true, true),
      attempts: 5,
    });
    await expect(ask()).rejects.toMatchObject({
      code: 'credential_unavailable',
      options: { retryAfterS: 5 },
    });
    expect(seen).toHaveLength(2);
    expect(refused).toEqual(['tok_1', 'tok_2']);
  });

  it('that nothing could replace ends the call', async () => {
    const { seen, ask, budget } = await open([status(401), OK], { tokens: tokensOf(false) });
    await expect(ask()).rejects.toMatchObject({ code: 'credential_unavailable' });
    expect(seen).toHaveLength(1);
    await settled(budget);
  });

  it('holds no turn while another is sought', async () => {
    const { url } = await startHttpPlatform(script(status(401), OK));
    let recovered: ((is: boolean) => void) | null = null;
    const { ask, budget } = createHarness(url, {
      maxConcurrent: 1,
      tokens: {
        refused: () =>
          new Promise((resolve) => {
            recovered = resolve;
          }),
      },
    });
    const asking = ask();
    const recover = await vi.waitUntil(() => recovered);
    await settled(budget);
    recover(true);
    expect((await asking).text).toBe('fine');
  });
});

describe('the budget of calls', () => {
  it('holds a turn until the body is read, and gives it back then', async () => {
    const answers: ServerResponse[] = [];
    const { url } = await startHttpPlatform((_request, response) => {
      answers.push(response);
      response.writeHead(200).write('first');
    });
    const { client, budget } = createHarness(url);
    const body = await client.send(READ, async (response) => response.body);
    expect(budget.running).toBe(1);
    answers[0]?.end('last');
    let text = '';
    for await (const chunk of body) text += chunk;
    expect(text).toBe('firstlast');
    await settled(budget);
  });

  it('gives it back when the caller drops the body', async () => {
    const { url, connections } = await startHttpPlatform((_request, response) => {
      response.writeHead(200).write('first');
    });
    const { client, budget } = createHarness(url);
    const body = await client.send(READ, async (response) => response.body);
    const closed = new Promise((resolve) => body.on('error', () => {}).once('close', resolve));
    body.destroy();
    await closed;
    await settled(budget);
    await expect.poll(() => connections.size).toBe(0);
  });

  it('is asked for by team, and refuses beyond its queue', async () => {
    const answers: ServerResponse[] = [];
    const { url, seen } = await startHttpPlatform((_request, response) => void answers.push(response));
    const { ask, budget } = createHarness(url, { maxConcurrent: 1, maxQueued: 3 });
    const asking = ['/a1', '/a2', '/a3', '/b1'].map((target) => ask({ target, team: target.charAt(1) }));
    await expect(ask({ team: 'a' })).rejects.toMatchObject({ code: 'overloaded' });
    for (let call = 0; call < 4; call++) {
      await waitFor('the call', () => answers.length > call);
      expect(budget.running).toBe(1);
      answers[call]?.end('fine');
    }
    await Promise.all(asking);
    expect(seen.map(({ url: target }) => target)).toEqual(['/a1', '/b1', '/a2', '/a3']);
    await settled(budget);
  });

  it('loses no turn, whatever comes of a hundred calls at once', async () => {
    const kinds = [
      OK,
      reset,
      status(500),
      status(503),
      status(401),
      status(302, { location: '/x' }),
      () => {},
    ];
    let count = 0;
    let atOnce = 0;
    let most = 0;
    const { url } = await startHttpPlatform((request, response) => {
      request.resume();
      atOnce += 1;
      most = Math.max(most, atOnce);
      response.once('close', () => {
        atOnce -= 1;
      });
      count += 1;
      kinds[(count * 7919) % kinds.length]?.(response);
    });
    const { ask, client, budget } = createHarness(url, { maxConcurrent: 4, maxQueued: 1000 });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 100 }, (_, index) => {
        const call = { ...READ, timeoutMs: 300 + index, team: `team-${index % 7}` };
        if (index % 5 === 0)
          return client.send(call, () => Promise.reject(new GatewayError('upstream_too_large')));
        return index % 3 === 0 ? ask({ ...call, signal: AbortSignal.timeout(index) }) : ask(call);
      }),
    );
    expect(outcomes.some(({ status: outcome }) => outcome === 'rejected')).toBe(true);
    await settled(budget);
    expect(budget.queued).toBe(0);
    expect(most).toBeLessThanOrEqual(4 + 1);
  });
});

describe('the circuit around calls', () => {
  const ILL: [string, RequestListener, number][] = [
    ['500', script(status(500)), 500],
    ['503', script(status(503)), 503],
    ['408', script(status(408)), 408],
    ['a reset', script(reset), 0],
  ];
  it.each(ILL)('opens on %s, and then nothing is sent', async (_, listener) => {
    const { url, seen } = await startHttpPlatform(listener);
    const circuit = createCircuit({ failures: 3, openMs: 60_000, clock: createClock() });
    const { ask, budget } = createHarness(url, { attempts: 0, between: { circuit } });
    for (let call = 0; call < 3; call++)
      await expect(ask()).rejects.toMatchObject({ code: expect.stringMatching(/upstream_(error|timeout)/) });
    await expect(ask()).rejects.toMatchObject({ code: 'upstream_circuit_open', status: 503 });
    await expect(ask({ method: 'POST', kind: 'write' })).rejects.toMatchObject({
      code: 'upstream_circuit_open',
    });
    expect(seen).toHaveLength(3);
    await settled(budget);
  });

  it('opens on time-outs of the platform, not on those of a wait for a turn', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const { url, seen } = await startHttpPlatform(() => {});
    const circuit = createCircuit({ failures: 1, openMs: 60_000, clock: createClock() });
    const { ask, budget } = createHarness(url, { maxConcurrent: 1, between: { circuit } });
    const release = await budget.acquire('other', new AbortController().signal);
    const timesOut = (call: Promise<unknown>) =>
      expect(call).rejects.toMatchObject({ code: 'upstream_timeout' });
    const late = timesOut(ask({ timeoutMs: 2000 }));
    await waitFor('a call in the queue', () => budget.queued === 1);
    vi.advanceTimersByTime(1400);
    release();
    await waitFor('the late call', () => seen.length === 1);
    vi.advanceTimersByTime(600);
    await late;
    expect(circuit.isOpen).toBe(false);
    const whole = timesOut(ask({ timeoutMs: 1000 }));
    await waitFor('the other call', () => seen.length === 2);
    vi.advanceTimersByTime(1000);
    await whole;
    expect(circuit.isOpen).toBe(true);
  });

  it.each<[string, RequestListener]>([
    ['404', script(status(404))],
    ['401', script(status(401))],
    ['429', script(status(429, { 'retry-after': '0' }))],
    ['a redirect', script(status(302, { location: '/elsewhere' }))],
  ])('stays closed on %s', async (_, listener) => {
    const { url } = await startHttpPlatform(listener);
    const circuit = createCircuit({ failures: 1, openMs: 60_000, clock: createClock() });
    const { ask } = createHarness(url, { between: { circuit } });
    for (let call = 0; call < 3; call++) await ask().catch((error: GatewayError) => error);
    expect(circuit.isOpen).toBe(false);
  });

  it('stays closed on a caller who goes, a body that breaks off on its way, and an answer that is of no use', async () => {
    const { url } = await startHttpPlatform((request, response) => {
      request.resume();
      if (request.url === '/odd') response.end('odd');
    });
    const circuit = createCircuit({ failures: 1, openMs: 60_000, clock: createClock() });
    const { ask, client } = createHarness(url, { between: { circuit } });
    const caller = new AbortController();
    const gone = ask({ signal: caller.signal });
    setTimeout(() => caller.abort(new GatewayError('invalid_request')), 20);
    await expect(gone).rejects.toMatchObject({ code: 'invalid_request' });
    const body = new Readable({ read: () => {} });
    body.push('half');
    setTimeout(() => body.destroy(new Error('the caller broke off')), 20);
    await expect(ask({ method: 'PUT', kind: 'write', body })).rejects.toMatchObject({
      code: 'upstream_error',
    });
    const odd = client.send({ ...READ, target: '/odd' }, async () => {
      throw new GatewayError('upstream_invalid_response');
    });
    await expect(odd).rejects.toMatchObject({ code: 'upstream_invalid_response' });
    expect(circuit.isOpen).toBe(false);
  });
});

describe('what a call is charged', () => {
  it('is each try of it, and nothing for what was not sent', async () => {
    const { url } = await startHttpPlatform(script(status(503), status(503), OK));
    let charged = 0;
    const shares = {
      exhausted: async () => null,
      async take() {
        charged += 1;
        return {
          putBack() {
            charged -= 1;
          },
        };
      },
    };
    const { ask, client } = createHarness(url, { attempts: 2, between: { shares } });
    await ask();
    expect(charged).toBe(3);
    (await client.acquire('growth', startDeadline(1000, undefined))).release();
    expect(charged).toBe(3);
  });
});

describe('the rate that the platform shows', () => {
  it('is learned from every answer, a refusal too', async () => {
    const { url } = await startHttpPlatform(
      script(
        status(
          200,
          { 'x-ratelimit-limit': '40', 'x-ratelimit-remaining': '10', 'x-ratelimit-reset': '20' },
          'fine',
        ),
        status(404, { 'x-ratelimit-limit': '40', 'x-ratelimit-remaining': '5', 'x-ratelimit-reset': '20' }),
      ),
    );
    const pace = createPace(createClock(), () => 1, 15_000);
    const { ask } = createHarness(url, { between: { pace } });
    await ask();
    expect(pace.waitMs()).toBeGreaterThan(1000);
    expect(pace.waitMs()).toBeLessThanOrEqual(2000);
    await ask();
    expect(pace.waitMs()).toBeGreaterThan(3000);
    expect(pace.waitMs()).toBeLessThanOrEqual(4000);
  });
});
