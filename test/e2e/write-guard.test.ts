/**
 * Every way known to us of having the platform read an amount that the guard did not: against a real gateway, byte for
 * byte. The platform has seen none of them.
 */

import { gzipSync } from 'node:zlib';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { admin, ask, newTeam, simulatorOf } from '../support/ask.js';
import { CAMPAIGN } from '../support/campaign.js';
import { type Gateway, type Platform, startGateway, startPlatform } from '../support/processes.js';
import { exchange, head, readAnswers } from '../support/raw-socket.js';

const PATH = '/api/v1/campaign/create';
const GUARD = {
  [`POST ${PATH}`]: {
    budget: {
      field: 'body.budget.total',
      currencyField: 'body.currency',
      currency: 'EUR',
      maxPerCall: 1000,
      maxPerDay: 100_000,
    },
    amounts: [{ field: 'body.bid', max: 5 }],
  },
};
const HONEST = JSON.stringify(CAMPAIGN);
/** A member more, in front of all or behind them. */
const inFront = (member: string) => HONEST.replace('{', `{${member},`);
const behind = (member: string) => HONEST.replace(/\}$/, `,${member}}`);
const total = (json: string) => HONEST.replace('"total":900', `"total":${json}`);
const bid = (json: string) => HONEST.replace('"bid":1.5', `"bid":${json}`);

let platform: Platform;
let gateway: Gateway;
let sim: ReturnType<typeof simulatorOf>;
let key: string;
beforeAll(async () => {
  platform = await startPlatform();
  gateway = await startGateway(platform.env);
  sim = simulatorOf(platform.url);
  key = (await newTeam(gateway, { id: 'guarded', writeGuard: GUARD })).key;
});
beforeEach(async () => void (await sim.forget()));

interface Smuggled {
  readonly body?: string | Buffer;
  readonly method?: string;
  readonly target?: string;
  readonly headers?: readonly string[];
  /** As it goes over the connection, with its own framing. */
  readonly framed?: string;
}

/** @returns status and code of the problem */
async function send({
  body = HONEST,
  method = 'POST',
  target = PATH,
  headers,
  framed,
}: Smuggled): Promise<string> {
  const bytes = Buffer.from(body).toString('latin1');
  const length = framed === undefined ? [`content-length: ${bytes.length}`] : [];
  const lines = [
    'host: gateway',
    `x-api-key: ${key}`,
    ...(headers ?? ['content-type: application/json']),
    ...length,
  ];
  const text = await exchange(
    gateway.data,
    head(`${method} ${target} HTTP/1.1`, [...lines, 'connection: close'], framed ?? bytes),
  );
  const [answer] = readAnswers(text);
  const code = /"code":"(\w+)"/.exec(answer?.body ?? '')?.[1];
  return code === undefined ? String(answer?.status) : `${answer?.status} ${code}`;
}

const chunked = (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
const HIGH = total('5000');

it('an honest write passes, chunked too, and is sent as it came', async () => {
  expect(await send({})).toBe('201');
  const framed = chunked(HONEST);
  expect(
    await send({ framed, headers: ['content-type: application/json', 'transfer-encoding: chunked'] }),
  ).toBe('201');
  expect((await sim.calls()).map(({ body }) => body)).toEqual([HONEST, HONEST]);
});

describe('no amount comes past the guard', () => {
  it.each<[string, Smuggled, string]>([
    ['openly', { body: HIGH }, '422 write_guard_refused'],
    ['in a query', { target: `${PATH}?budget%5Btotal%5D=5000` }, '422 write_guard_refused'],
    ['in a query of a name without a bracket', { target: `${PATH}?bid=5000` }, '422 write_guard_refused'],
    ['in a query of a dotted name', { target: `${PATH}?budget.total=5000` }, '400 invalid_query'],
    ['as a member twice, the first', { body: inFront('"bid":5000') }, '422 write_guard_refused'],
    [
      'as a member twice, the last',
      { body: behind('"budget":{"daily":1,"total":5000}') },
      '422 write_guard_refused',
    ],
    [
      'as a member twice, one of them escaped',
      { body: behind('"b\\u0069d":5000') },
      '422 write_guard_refused',
    ],
    [
      'as a member twice, further in',
      { body: HONEST.replace('"total":900', '"total":900,"total":5000') },
      '422 write_guard_refused',
    ],
    [
      'in a list on the way',
      { body: HONEST.replace('{"daily":10,"total":900}', '[{"daily":1,"total":900},{"total":5000}]') },
      '422 write_guard_refused',
    ],
    ['in a list in its place', { body: total('[900,5000]') }, '422 write_guard_refused'],
    ['in a list of campaigns', { body: `[${HIGH}]` }, '422 write_guard_refused'],
    ['in a dotted name', { body: behind('"budget.total":5000') }, '422 write_guard_refused'],
    ['in a name with brackets', { body: behind('"budget[total]":5000') }, '422 write_guard_refused'],
    ['in a name with an arrow', { body: behind('"budget->total":5000') }, '422 write_guard_refused'],
    ['in a joined name', { body: behind('"budget_total":5000') }, '422 write_guard_refused'],
    ['with an exponent', { body: total('5e3') }, '422 write_guard_refused'],
    ['with an exponent in capitals', { body: total('0.5E+4') }, '422 write_guard_refused'],
    ['beyond all numbers', { body: total('1e999') }, '422 write_guard_refused'],
    ['by a millionth', { body: total('1000.0000001') }, '422 write_guard_refused'],
    ['below zero', { body: total('-1') }, '422 write_guard_refused'],
    ['as a text', { body: total('"5000"') }, '422 write_guard_refused'],
    ['as a text that is small', { body: bid('"1"') }, '422 write_guard_refused'],
    ['as no value', { body: total('null') }, '422 write_guard_refused'],
    ['in hexadecimal', { body: total('0x1388') }, '422 write_guard_refused'],
    ['as no number of JSON', { body: total('Infinity') }, '422 write_guard_refused'],
    ['in capitals', { body: behind('"BID":5000') }, '422 write_guard_refused'],
    [
      'in capitals further in',
      { body: HONEST.replace('"total":900', '"total":900,"Total":5000') },
      '422 write_guard_refused',
    ],
    ['in letters of another script', { body: behind('"bіd":5000') }, '422 write_guard_refused'],
    ['in wide letters', { body: behind('"ｂｉｄ":5000') }, '422 write_guard_refused'],
    ['with what cannot be seen', { body: behind('"bid\u200b":5000') }, '422 write_guard_refused'],
    ['with a space behind', { body: behind('"bid ":5000') }, '422 write_guard_refused'],
    ['in the prototype', { body: behind('"__proto__":{"bid":5000}') }, '422 write_guard_refused'],
    ['in another currency', { body: HONEST.replace('EUR', 'KWD') }, '422 write_guard_refused'],
    ['in a currency twice', { body: behind('"Currency":"KWD"') }, '422 write_guard_refused'],
    ['behind a byte order mark', { body: `\ufeff${HIGH}` }, '422 write_guard_refused'],
    ['behind a byte order mark, though small', { body: `\ufeff${HONEST}` }, '422 write_guard_refused'],
    ['in UTF-16', { body: Buffer.from(HIGH, 'utf16le') }, '422 write_guard_refused'],
    ['behind a comment', { body: `/* */${HIGH}` }, '422 write_guard_refused'],
    ['behind another object', { body: `${HONEST}${HIGH}` }, '422 write_guard_refused'],
    [
      'with bytes that are no UTF-8',
      {
        body: Buffer.concat([
          Buffer.from(HONEST.slice(0, -1)),
          Buffer.from([0x2c, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
        ]),
      },
      '422 write_guard_refused',
    ],
    ['with no body at all', { body: '', headers: [] }, '422 write_guard_refused'],
    ['by another route', { target: '/api/v1/campaign/update', body: HIGH }, '422 write_guard_refused'],
    ['by a route below', { target: `${PATH}/1`, body: HIGH }, '422 write_guard_refused'],
    ['by a route in capitals', { target: '/api/v1/campaign/Create', body: HIGH }, '422 write_guard_refused'],
    ['by a route below reports', { target: '/api/v1/report/x', body: HIGH }, '422 write_guard_refused'],
    [
      'by another spelling of the route',
      { target: '/api/v1/campaign/%63reate', body: HIGH },
      '400 invalid_path',
    ],
    ['by a slash more', { target: `${PATH}/`, body: HIGH }, '400 invalid_path'],
    ['by another method', { method: 'PUT', body: HIGH }, '422 write_guard_refused'],
    ['by a method in the body', { body: inFront('"_method":"PUT"') }, '400 invalid_body'],
    ['by a method in the query', { target: `${PATH}?_method=PUT` }, '400 invalid_query'],
    [
      'by a method in a header',
      { body: HIGH, headers: ['content-type: application/json', 'x-http-method-override: GET'] },
      '422 write_guard_refused',
    ],
    [
      'as a form',
      { body: 'budget[total]=5000', headers: ['content-type: application/x-www-form-urlencoded'] },
      '415 unsupported_media_type',
    ],
    [
      'as parts',
      { body: HIGH, headers: ['content-type: multipart/form-data; boundary=x'] },
      '415 unsupported_media_type',
    ],
    ['as text', { body: HIGH, headers: ['content-type: text/plain'] }, '415 unsupported_media_type'],
    [
      'as a kind of JSON',
      { body: HIGH, headers: ['content-type: application/vnd.api+json'] },
      '415 unsupported_media_type',
    ],
    ['as nothing', { body: HIGH, headers: [] }, '415 unsupported_media_type'],
    [
      'in another charset',
      { headers: ['content-type: application/json; charset=utf-7'] },
      '415 unsupported_media_type',
    ],
    [
      'with a boundary',
      { headers: ['content-type: application/json; boundary=x'] },
      '415 unsupported_media_type',
    ],
    [
      'as two kinds',
      { headers: ['content-type: application/json, multipart/form-data; boundary=x'] },
      '415 unsupported_media_type',
    ],
    [
      'compressed',
      { body: gzipSync(HIGH), headers: ['content-type: application/json', 'content-encoding: gzip'] },
      '415 unsupported_media_type',
    ],
    [
      'said to be compressed',
      { headers: ['content-type: application/json', 'content-encoding: identity, gzip'] },
      '415 unsupported_media_type',
    ],
    [
      'in pieces',
      { framed: chunked(HIGH), headers: ['content-type: application/json', 'transfer-encoding: chunked'] },
      '422 write_guard_refused',
    ],
    [
      'by two lengths',
      { headers: ['content-type: application/json', 'content-length: 2'] },
      '400 invalid_request',
    ],
    [
      'in pieces beside a length',
      {
        framed: chunked(HIGH),
        headers: ['content-type: application/json', 'transfer-encoding: chunked', 'content-length: 2'],
      },
      '400 invalid_request',
    ],
    ['by a dry run that is none', { target: `${PATH}?_dryRun=0`, body: HIGH }, '400 invalid_query'],
    [
      'by a checksum of something else',
      { headers: ['content-type: application/json', 'x-write-checksum: sha256:x'] },
      '422 write_guard_refused',
    ],
  ])('%s', async (_, smuggled, outcome) => {
    expect(await send(smuggled)).toBe(outcome);
    expect(await sim.calls()).toEqual([]);
  });
});

it('a dry run of what would pass and of what would not sends nothing', async () => {
  for (const [body, wouldBeSent] of [
    [HONEST, true],
    [HIGH, false],
  ] as const) {
    const headers = { 'content-type': 'application/json' };
    const answer = await ask(`${gateway.data}${PATH}?_dryRun=1`, { method: 'POST', key, body, headers });
    expect([answer.status, answer.json().wouldBeSent]).toEqual([200, wouldBeSent]);
  }
  expect(await sim.calls()).toEqual([]);
});

it('stopped writes stop for teams without a guard, too, and go on when they are resumed', async () => {
  const open = (await newTeam(gateway, { id: 'open' })).key;
  const write = async () =>
    (await ask(`${gateway.data}${PATH}`, { method: 'POST', key: open, json: CAMPAIGN })).status;
  await admin(gateway, 'POST', '/writes/stop', { reason: 'a loop' });
  expect([await write(), await send({})]).toEqual([503, '503 writes_stopped']);
  expect(await sim.calls()).toEqual([]);
  await admin(gateway, 'POST', '/writes/resume', { reason: 'found' });
  expect([await write(), await send({})]).toEqual([201, '201']);
});

it('what nobody knows the outcome of stays charged and is listed', async () => {
  await sim.fault({ kind: 'reset' });
  expect(await send({ body: total('777') })).toBe('502 upstream_error');
  const listed = await admin<Record<string, unknown>>(gateway, 'GET', '/writes/unknown');
  expect(JSON.stringify(listed)).toContain('"team":"guarded"');
});
