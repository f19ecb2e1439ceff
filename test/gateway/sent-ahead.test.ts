/**
 * Requests sent ahead of an answer, on one connection: each is carried out only if the answer before it leaves the connection
 * open. Its caller would never see its own.
 */
import { once } from 'node:events';
import { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { listenGateway } from '../support/listen-gateway.js';
import { sends, startHeldPlatform } from '../support/raw-platform.js';
import { exchange, head, readAnswers } from '../support/raw-socket.js';
import { rule } from '../support/scene.js';
import { ADMIN_TOKEN, gatewayAt, REPORT, withGateway } from '../support/start-gateway.js';
import { waitFor } from '../support/wait-for.js';

const QUERY = 'advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-07';
const CHUNKED = 'transfer-encoding: chunked';
const NO_CHUNKS = '0\r\n\r\n';
const LARGE = 100_000;

/** A gateway at a platform that holds its answers. */
async function open(server: object = {}) {
  const platform = await startHeldPlatform(sends('{"data":[{"clicks":2}]}'));
  const gateway = await gatewayAt(platform, {
    logLevel: 'info',
    config: { server: { maxBodyBytes: 1024, maxHeaderBytes: 8192, ...server } },
  });
  const [key, url] = [await gateway.addTeam(), await listenGateway(gateway)];
  const by = ['host: a', `x-api-key: ${key}`];
  return {
    platform,
    gateway,
    key,
    url,
    by,
    /** What the platform was asked, in order. */
    asked: () => platform.requests.map(({ method, url }) => `${method} ${url}`),
    write: (name: string, ...headers: string[]) =>
      head(`POST /api/v1/${name} HTTP/1.1`, [...by, 'content-length: 2', ...headers], '{}'),
    read: (name: string, ...headers: string[]) => head(`GET /api/v1/${name} HTTP/1.1`, [...by, ...headers]),
  };
}

type Scene = Awaited<ReturnType<typeof open>>;

const statusesOf = (text: string) => readAnswers(text).map(({ status }) => status);

describe('a request behind an answer that closes the connection is not carried out', () => {
  const post = ({ by }: Scene, headers: readonly string[], body: string, version = '1.1') =>
    head(`POST /api/v1/first HTTP/${version}`, [...by, ...headers], body);

  it.each<[what: string, first: (scene: Scene) => string, status: number]>([
    ['two hosts', (at) => at.write('first', 'host: b'), 400],
    [
      'two hosts, and a body it waits to be asked for',
      (at) => at.write('first', 'host: b', 'expect: 100-continue'),
      400,
    ],
    ['chunks in HTTP/1.0', (at) => post(at, [CHUNKED, 'connection: keep-alive'], NO_CHUNKS, '1.0'), 400],
    ['a coding beside chunks', (at) => post(at, ['transfer-encoding: gzip, chunked'], NO_CHUNKS), 400],
    ['a GET with a body', (at) => at.read('first', CHUNKED) + NO_CHUNKS, 400],
    ['an unknown expectation', (at) => at.write('first', 'expect: x'), 417],
    [
      'a version there is none of',
      (at) => post(at, ['content-length: 0', 'connection: keep-alive'], '', '2.0'),
      400,
    ],
    [
      'a body that is too large',
      (at) =>
        at
          .write('first', 'idempotency-key: k', 'content-type: application/json')
          .replace('content-length: 2\r\n', `content-length: ${LARGE}\r\n`)
          .replace('{}', ' '.repeat(LARGE)),
      413,
    ],
    [
      'chunks that are too large',
      (at) =>
        post(
          at,
          [CHUNKED, 'idempotency-key: k', 'content-type: application/json'],
          `${LARGE.toString(16)}\r\n${' '.repeat(LARGE)}\r\n${NO_CHUNKS}`,
        ),
      413,
    ],
    [
      'a refused path, and most of its body to come',
      ({ by }) => head('POST /api//v1 HTTP/1.1', [...by, `content-length: ${LARGE}`], ' '.repeat(LARGE)),
      400,
    ],
    [
      'no valid key, and most of its body to come',
      () =>
        head(
          'POST /api/v1/first HTTP/1.1',
          ['host: a', 'x-api-key: no', `content-length: ${LARGE}`],
          ' '.repeat(LARGE),
        ),
      401,
    ],
    [
      'an override, and most of its body to come',
      (at) =>
        post(
          at,
          [`content-length: ${LARGE}`, 'content-type: application/json'],
          `{"_method":"DELETE"${' '.repeat(LARGE - 20)}}`,
        ),
      400,
    ],
    ['a head that is too large', (at) => at.write('first', `x-large: ${'x'.repeat(10_000)}`), 431],
    ['no HTTP', () => 'HELLO\r\n\r\n', 400],
    ['a tunnel', () => head('CONNECT platform:443 HTTP/1.1', ['host: a']), 405],
    ['the wish to close', ({ by }) => head('GET /healthz HTTP/1.1', [...by, 'connection: close']), 200],
    ['no wish to keep it, in HTTP/1.0', ({ by }) => head('GET /healthz HTTP/1.0', by), 200],
  ])('%s', async (_what, first, status) => {
    const at = await open();
    at.platform.release();
    const text = await exchange(
      at.url,
      first(at) + at.write('second') + at.read(`report/campaigns/get?${QUERY}`) + at.read('third'),
    );
    const own = text.replace('HTTP/1.1 100 Continue\r\n\r\n', '');
    expect(statusesOf(own)).toEqual([status]);
    // Another connection, behind all that this one could have started.
    expect(statusesOf(await exchange(at.url, at.write('last', 'connection: close')))).toEqual([200]);
    expect(at.asked()).toEqual(['POST /api/v1/last']);
  });
});

describe('behind a write that is still with the platform', () => {
  async function openFirst(headers: readonly string[] = [], server: object = {}) {
    const at = await open(server);
    const accepted = once(at.gateway.data.server, 'connection') as Promise<[Socket]>;
    const caller = connect(Number(new URL(at.url).port), '127.0.0.1').setEncoding('latin1');
    onTestFinished(() => void caller.destroy());
    let text = '';
    caller.on('data', (chunk: string) => {
      text += chunk;
    });
    caller.on('error', () => {});
    caller.write(at.write('first', ...headers));
    const [[own]] = await Promise.all([accepted, at.platform.arrived(1)]);
    return {
      ...at,
      caller,
      /** The gateway's side of the connection. */
      own,
      /** Sends bytes, and waits until the gateway has read them. */
      async send(bytes: string) {
        const before = own.bytesRead;
        caller.write(bytes, 'latin1');
        await waitFor('the bytes to be read', () => own.bytesRead >= before + bytes.length);
        // The first is the only one that the platform was asked for.
        await at.platform.arrived(1);
        expect(at.asked()).toEqual([FIRST]);
      },
      /** Lets the platform answer. @returns the answers on the connection, when it is closed */
      async released() {
        const closed = once(caller, 'close');
        at.platform.release();
        await closed;
        return statusesOf(text);
      },
    };
  }

  const [FIRST, SECOND] = ['POST /api/v1/first', 'POST /api/v1/second'];

  it('a request is begun when that answer has ended', async () => {
    const at = await openFirst();
    await at.send(at.write('second') + at.read(`report/campaigns/get?${QUERY}`, 'connection: close'));
    expect(await at.released()).toEqual([200, 200, 200]);
    expect(at.asked().slice(0, 2)).toEqual([FIRST, SECOND]);
    expect(at.asked()[2]).toMatch('GET /api/v1/report/campaigns/get?');
  });

  it('a request is not begun if the caller leaves before', async () => {
    const at = await openFirst();
    await at.send(at.write('second') + at.read(`report/campaigns/get?${QUERY}`));
    at.caller.resetAndDestroy();
    await waitFor('its end to be noticed', () => at.own.closed);
    at.platform.release();
    await at.gateway.services.settled();
    await exchange(at.url, at.write('last', 'connection: close'));
    expect(at.asked()).toEqual([FIRST, 'POST /api/v1/last']);
  });

  it('a request is not begun where the write asked to close, which gets its own answer', async () => {
    const at = await openFirst(['connection: close']);
    await at.send(at.write('second') + at.read(`report/campaigns/get?${QUERY}`));
    expect(await at.released()).toEqual([200]);
    expect(at.asked()).toEqual([FIRST]);
  });

  it.each<[string, (at: Scene) => string, number]>([
    ['no HTTP', () => 'HELLO\r\n\r\n', 400],
    ['a head that is too large', (at) => at.write('second', `x-large: ${'x'.repeat(10_000)}`), 431],
    ['a tunnel', () => head('CONNECT platform:443 HTTP/1.1', ['host: a']), 405],
    ['a broken body', ({ by }) => head('POST /api/v1/second HTTP/1.1', [...by, CHUNKED], 'zz\r\n'), 400],
    ['two hosts', (at) => at.write('second', 'host: b'), 400],
  ])('%s is refused after its answer, and nothing behind it is begun', async (_what, second, status) => {
    const at = await openFirst();
    await at.send(second(at) + at.write('third') + at.read(`report/campaigns/get?${QUERY}`));
    expect(await at.released()).toEqual([200, status]);
    expect(at.asked()).toEqual([FIRST]);
  });

  it('a request that does not end is 408 after its answer, however long that takes', async () => {
    const at = await openFirst([], { requestTimeoutSeconds: 1 });
    const late = once(at.gateway.data.server, 'clientError');
    await at.send('POST /api/v1/second HTTP/1.1\r\nhost: a\r\n');
    await late;
    expect(await at.released()).toEqual([200, 408]);
    expect(at.asked()).toEqual([FIRST]);
  });

  it('no more is read than a hundred requests take, and all are answered in their order', async () => {
    const at = await openFirst();
    const count = 1000;
    const ahead = head('GET /healthz HTTP/1.1', ['host: a', `x-long: ${'x'.repeat(1000)}`]).repeat(count);
    at.caller.write(ahead + at.write('second', 'connection: close'));
    await waitFor('it to be paused', () => at.own.isPaused());
    await at.platform.arrived(1);
    // One piece of what the connection brings.
    expect(at.own.bytesRead).toBeLessThan(ahead.length / 4);
    expect(await at.released()).toEqual(Array(count + 2).fill(200));
    expect(at.asked()).toEqual([FIRST, SECOND]);
  });
});

it('hits that were sent ahead are each answered, in one write', async () => {
  const gateway = await withGateway({ logLevel: 'info', config: rule({ divisible: 'never' }) });
  const [key, url] = [await gateway.addTeam(), await listenGateway(gateway)];
  for (let times = 0; times < 2; times += 1) await gateway.report(key, QUERY);
  const before = gateway.simulator.callCount;
  const hit = (...headers: string[]) =>
    head(`GET ${REPORT}?${QUERY} HTTP/1.1`, ['host: a', `x-api-key: ${key}`, ...headers]);
  const [checked, count] = [vi.spyOn(ServerResponse.prototype, 'writeHead'), 500];
  const answers = readAnswers(await exchange(url, hit().repeat(count) + hit('connection: close')));
  expect(answers.map(({ status }) => status)).toEqual(Array(count + 1).fill(200));
  expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
  expect(gateway.simulator.callCount).toBe(before);
  // That of the last alone, which ends the connection.
  expect(checked).toHaveBeenCalledTimes(1);
});

it('on the admin plane nothing behind a refused request is carried out', async () => {
  const gateway = await withGateway();
  const url = await listenGateway({ data: gateway.admin });
  const create = (id: string, ...headers: string[]) => {
    const body = JSON.stringify({ id });
    return head(
      'POST /admin/v1/teams HTTP/1.1',
      [
        `authorization: Bearer ${ADMIN_TOKEN}`,
        'content-type: application/json',
        `content-length: ${body.length}`,
        ...headers,
      ],
      body,
    );
  };
  for (const bad of [
    ['host: a', 'host: b'],
    ['host: a', 'expect: x'],
    ['host: a', 'connection: close'],
  ])
    await exchange(url, create('first', ...bad) + create('second', 'host: a'));
  const teams = (await gateway.manage('GET', '/teams')) as { teams: { id: string }[] };
  expect(teams.teams.map(({ id }) => id)).toEqual(['first']);
});
