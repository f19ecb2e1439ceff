/**
 * Every way known to us of having the platform read an amount that the guard did not: against a real gateway, byte for
 * byte. The platform has seen none of them.
 */

import { gzipSync } from 'node:zlib';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newTeam } from '../support/ask.js';
import { CAMPAIGN, RULE } from '../support/campaign.js';
import { type OpenGateway, openGateway } from '../support/open-gateway.js';
import { exchange, head, readAnswers } from '../support/raw-socket.js';

const PATH = '/api/v1/campaign/create';
const GUARD = {
  [`POST ${PATH}`]: {
    budget: { ...RULE.budget, maxPerDay: 100_000 },
    amounts: [{ field: 'body.bid', max: 5 }],
  },
};
const HONEST = JSON.stringify(CAMPAIGN);
/** A member more, in front of all or behind them. */
const inFront = (member: string) => HONEST.replace('{', `{${member},`);
const behind = (member: string) => HONEST.replace(/\}$/, `,${member}}`);
const total = (json: string) => HONEST.replace('"total":900', `"total":${json}`);
const bid = (json: string) => HONEST.replace('"bid":1.5', `"bid":${json}`);

let gateway: OpenGateway['gateway'];
let sim: OpenGateway['sim'];
let key: string;
beforeAll(async () => {
  ({ gateway, sim } = await openGateway());
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

const WAYS: Readonly<Record<string, Readonly<Record<string, Smuggled>>>> = {
  '422 write_guard_refused': {
    openly: { body: HIGH },
    'in a query': { target: `${PATH}?budget%5Btotal%5D=5000` },
    'in a query of a name without a bracket': { target: `${PATH}?bid=5000` },
    'as a member twice, the first': { body: inFront('"bid":5000') },
    'as a member twice, the last': { body: behind('"budget":{"daily":1,"total":5000}') },
    'as a member twice, one of them escaped': { body: behind('"b\\u0069d":5000') },
    'as a member twice, further in': { body: HONEST.replace('"total":900', '"total":900,"total":5000') },
    'in a list on the way': {
      body: HONEST.replace('{"daily":10,"total":900}', '[{"daily":1,"total":900},{"total":5000}]'),
    },
    'in a list in its place': { body: total('[900,5000]') },
    'in a list of campaigns': { body: `[${HIGH}]` },
    'in a dotted name': { body: behind('"budget.total":5000') },
    'in a name with brackets': { body: behind('"budget[total]":5000') },
    'in a name with an arrow': { body: behind('"budget->total":5000') },
    'in a joined name': { body: behind('"budget_total":5000') },
    'with an exponent': { body: total('5e3') },
    'with an exponent in capitals': { body: total('0.5E+4') },
    'beyond all numbers': { body: total('1e999') },
    'by a millionth': { body: total('1000.0000001') },
    'below zero': { body: total('-1') },
    'as a text': { body: total('"5000"') },
    'as a text that is small': { body: bid('"1"') },
    'as no value': { body: total('null') },
    'in hexadecimal': { body: total('0x1388') },
    'as no number of JSON': { body: total('Infinity') },
    'in capitals': { body: behind('"BID":5000') },
    'in capitals further in': { body: HONEST.replace('"total":900', '"total":900,"Total":5000') },
    'in letters of another script': { body: behind('"bіd":5000') },
    'in wide letters': { body: behind('"ｂｉｄ":5000') },
    'with what cannot be seen': { body: behind('"bid\u200b":5000') },
    'with a space behind': { body: behind('"bid ":5000') },
    'in the prototype': { body: behind('"__proto__":{"bid":5000}') },
    'in another currency': { body: HONEST.replace('EUR', 'KWD') },
    'in a currency twice': { body: behind('"Currency":"KWD"') },
    'behind a byte order mark': { body: `\ufeff${HIGH}` },
    'behind a byte order mark, though small': { body: `\ufeff${HONEST}` },
    'in UTF-16': { body: Buffer.from(HIGH, 'utf16le') },
    'behind a comment': { body: `/* */${HIGH}` },
    'behind another object': { body: `${HONEST}${HIGH}` },
    'with bytes that are no UTF-8': {
      body: Buffer.concat([
        Buffer.from(HONEST.slice(0, -1)),
        Buffer.from([0x2c, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
      ]),
    },
    'with no body at all': { body: '', headers: [] },
    'by another route': { target: '/api/v1/campaign/update', body: HIGH },
    'by a route below': { target: `${PATH}/1`, body: HIGH },
    'by a route in capitals': { target: '/api/v1/campaign/Create', body: HIGH },
    'by a route below reports': { target: '/api/v1/report/x', body: HIGH },
    'by another method': { method: 'PUT', body: HIGH },
    'by a method in a header': {
      body: HIGH,
      headers: ['content-type: application/json', 'x-http-method-override: GET'],
    },
    'in pieces': {
      framed: chunked(HIGH),
      headers: ['content-type: application/json', 'transfer-encoding: chunked'],
    },
    'by a checksum of something else': {
      headers: ['content-type: application/json', 'x-write-checksum: sha256:x'],
    },
  },
  '400 invalid_query': {
    'in a query of a dotted name': { target: `${PATH}?budget.total=5000` },
    'by a method in the query': { target: `${PATH}?_method=PUT` },
    'by a dry run that is none': { target: `${PATH}?_dryRun=0`, body: HIGH },
  },
  '400 invalid_path': {
    'by another spelling of the route': { target: '/api/v1/campaign/%63reate', body: HIGH },
    'by a slash more': { target: `${PATH}/`, body: HIGH },
  },
  '400 invalid_body': {
    'by a method in the body': { body: inFront('"_method":"PUT"') },
  },
  '415 unsupported_media_type': {
    'as a form': { body: 'budget[total]=5000', headers: ['content-type: application/x-www-form-urlencoded'] },
    'as parts': { body: HIGH, headers: ['content-type: multipart/form-data; boundary=x'] },
    'as text': { body: HIGH, headers: ['content-type: text/plain'] },
    'as a kind of JSON': { body: HIGH, headers: ['content-type: application/vnd.api+json'] },
    'as nothing': { body: HIGH, headers: [] },
    'in another charset': { headers: ['content-type: application/json; charset=utf-7'] },
    'with a boundary': { headers: ['content-type: application/json; boundary=x'] },
    'as two kinds': { headers: ['content-type: application/json, multipart/form-data; boundary=x'] },
    compressed: {
      body: gzipSync(HIGH),
      headers: ['content-type: application/json', 'content-encoding: gzip'],
    },
    'said to be compressed': {
      headers: ['content-type: application/json', 'content-encoding: identity, gzip'],
    },
  },
  '400 invalid_request': {
    'by two lengths': { headers: ['content-type: application/json', 'content-length: 2'] },
    'in pieces beside a length': {
      framed: chunked(HIGH),
      headers: ['content-type: application/json', 'transfer-encoding: chunked', 'content-length: 2'],
    },
  },
};

describe('no amount comes past the guard', () => {
  it.each(
    Object.entries(WAYS).flatMap(([outcome, ways]) =>
      Object.entries(ways).map(([name, smuggled]) => ({ name, outcome, smuggled })),
    ),
  )('$name', async ({ smuggled, outcome }) => {
    expect(await send(smuggled)).toBe(outcome);
    expect(await sim.calls()).toEqual([]);
  });
});
