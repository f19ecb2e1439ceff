/** Idempotency keys: how they are read, and what is kept of a request and its answer. */

import { once } from 'node:events';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { takeAnswer } from '../../../src/api/proxy/idempotency.js';
import {
  fingerprint,
  type IdempotencyOutcome,
  type IdempotencyRecord,
  idempotencyDocument,
  readIdempotencyKey,
  readRecord,
  writeRecord,
} from '../../../src/api/proxy/idempotency-record.js';
import { codeOf } from '../../support/problems.js';
import { sends, startRawPlatform } from '../../support/raw-platform.js';
import { gatewayAt, outcomeOf } from '../../support/start-gateway.js';

const sent = (...rawHeaders: string[]) => ({ rawHeaders });

describe('an idempotency key', () => {
  it('is the text of its header, in whatever capitals the name is', () => {
    expect(readIdempotencyKey(sent('host', 'x', 'Idempotency-Key', 'order 7'))).toBe('order 7');
    expect(readIdempotencyKey(sent('idempotency-key', '~'.repeat(255)))).toBe('~'.repeat(255));
  });

  it('is absent when there is no such header, even where a value looks like its name', () => {
    expect(readIdempotencyKey(sent('host', 'x'))).toBeNull();
    expect(readIdempotencyKey(sent('x-document', 'idempotency-key', 'host', 'x'))).toBeNull();
  });

  it.each([
    ['empty', ['idempotency-key', '']],
    ['too long', ['idempotency-key', 'a'.repeat(256)]],
    ['not ASCII', ['idempotency-key', 'é']],
    ['not printable', ['idempotency-key', 'a\tb']],
    ['given twice', ['idempotency-key', 'a', 'Idempotency-Key', 'a']],
  ])('that is %s is refused', (_how, rawHeaders) => {
    expect(codeOf(() => readIdempotencyKey(sent(...rawHeaders)))).toBe('invalid_request');
  });
});

const bytes = fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array));
const outcome: fc.Arbitrary<IdempotencyOutcome> = fc.oneof(
  fc.constant<IdempotencyOutcome>({ state: 'open' }),
  fc.string().map((why): IdempotencyOutcome => ({ state: 'unknown', why })),
  fc
    .record({
      status: fc.integer({ min: 200, max: 499 }),
      headers: fc.dictionary(fc.stringMatching(/^[a-z-]{1,20}$/), fc.string()),
      body: bytes,
    })
    .map((answer): IdempotencyOutcome => ({ state: 'answered', answer })),
);
const record: fc.Arbitrary<IdempotencyRecord> = fc.record({
  owner: fc.uuid(),
  request: fc.string(),
  atMs: fc.integer({ min: 0 }),
  outcome,
});

describe('a record', () => {
  it('comes back as it was written, byte for byte', () => {
    fc.assert(
      fc.property(record, (one) => {
        const back = readRecord(writeRecord(one));
        // Dictionaries come without a prototype.
        expect(JSON.parse(JSON.stringify(back))).toEqual(JSON.parse(JSON.stringify(one)));
        if (one.outcome.state === 'answered')
          expect(back?.outcome).toMatchObject({ answer: { body: one.outcome.answer.body } });
      }),
    );
  });

  it('keeps what another release wrote into it, wherever that stands', () => {
    const outcomes = [
      { state: 'open', since: 'v9' },
      { state: 'unknown', why: 'w', hint: [1] },
      { state: 'answered', at: 7, answer: { status: 201, headers: {}, body: 'e30=', trailers: { a: 'b' } } },
    ];
    for (const fate of outcomes) {
      const stored = { owner: 'o', request: 'r', atMs: 1, fate, region: { of: 'v9' } };
      const record = readRecord(JSON.stringify(stored)) as IdempotencyRecord;
      expect(record.outcome.state).toBe(fate.state);
      expect(JSON.parse(writeRecord(record))).toEqual(stored);
    }
  });

  it('is not read out of anything else', () => {
    const whole = JSON.parse(writeRecord({ owner: 'o', request: 'r', atMs: 1, outcome: { state: 'open' } }));
    const broken = [
      '',
      'null',
      '7',
      '{}',
      JSON.stringify({ ...whole, owner: 1 }),
      JSON.stringify({ ...whole, request: undefined }),
      JSON.stringify({ ...whole, atMs: '1' }),
      JSON.stringify({ ...whole, fate: null }),
      JSON.stringify({ ...whole, fate: { state: 'other' } }),
      JSON.stringify({ ...whole, fate: { state: 'unknown' } }),
      JSON.stringify({ ...whole, fate: { state: 'answered' } }),
      JSON.stringify({
        ...whole,
        fate: { state: 'answered', answer: { status: '200', headers: {}, body: '' } },
      }),
      JSON.stringify({ ...whole, fate: { state: 'answered', answer: { status: 200, headers: {} } } }),
    ];
    expect(broken.map(readRecord)).toEqual(broken.map(() => null));
  });
});

describe('a fingerprint', () => {
  const request = fc.record({
    method: fc.constantFrom('POST', 'PUT'),
    path: fc.string(),
    query: fc.string(),
    body: bytes,
  });

  it('is the same for the same request, and for no other', () => {
    fc.assert(
      fc.property(request, request, (one, other) => {
        const same =
          one.method === other.method &&
          one.path === other.path &&
          one.query === other.query &&
          one.body.equals(other.body);
        expect(fingerprint(one) === fingerprint(other)).toBe(same);
        expect(fingerprint({ ...one })).toBe(fingerprint(one));
      }),
    );
  });

  it('cannot be had by moving text from the path to the query or the body', () => {
    const prints = [
      { path: '/a', query: 'b', body: Buffer.from('c') },
      { path: '/ab', query: '', body: Buffer.from('c') },
      { path: '/a', query: '', body: Buffer.from('bc') },
      { path: '/a', query: 'b","', body: Buffer.from('c') },
    ].map((one) => fingerprint({ method: 'POST', ...one }));
    expect(new Set(prints).size).toBe(prints.length);
  });
});

describe('the name of a document', () => {
  it('is of one team and one key, and shows neither', () => {
    const names = [
      idempotencyDocument('a', 'key'),
      idempotencyDocument('ak', 'ey'),
      idempotencyDocument('b', 'key'),
      idempotencyDocument('a', 'Key'),
    ];
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^idempotency:[A-Za-z0-9_-]{43}$/);
  });
});

const answered = (body: Readable) => ({ statusCode: 201, headers: { 'content-type': 'text/plain' }, body });
const pieces = (...texts: string[]) => Readable.from(texts.map((text) => Buffer.from(text)));
const keptBody = (outcome: IdempotencyOutcome) => (outcome.state === 'answered' ? outcome.answer.body : null);

describe('an answer', () => {
  it('up to the limit is read whole, and can still be sent', async () => {
    const { answer, outcome } = await takeAnswer(answered(pieces('abc', 'de')), 5);
    expect(keptBody(outcome)?.toString()).toBe('abcde');
    expect([answer.statusCode, String(await buffer(answer.body))]).toEqual([201, 'abcde']);
  });

  it('without a body is one of no bytes', async () => {
    const { answer, outcome } = await takeAnswer(answered(Readable.from([])), 5);
    expect([keptBody(outcome)?.length, (await buffer(answer.body)).length]).toEqual([0, 0]);
  });

  it('beyond the limit is streamed to its end, and not kept', async () => {
    const { answer, outcome } = await takeAnswer(answered(pieces('abc', 'def', 'ghi')), 5);
    expect([outcome.state, keptBody(outcome)]).toEqual(['unknown', null]);
    expect(String(await buffer(answer.body))).toBe('abcdefghi');
  });

  it('beyond the limit is let go of when nobody wants the rest', async () => {
    const body = pieces('abc', 'def', 'ghi');
    const { answer } = await takeAnswer(answered(body), 5);
    for await (const piece of answer.body) {
      expect(String(piece)).toBe('abc');
      break;
    }
    if (!body.closed) await once(body, 'close');
    expect(body.destroyed).toBe(true);
  });

  it('that breaks off is an error, before and beyond the limit', async () => {
    const broken = () =>
      Readable.from(
        (async function* () {
          yield Buffer.from('abc');
          throw new Error('broken off');
        })(),
      );
    await expect(takeAnswer(answered(broken()), 5)).rejects.toThrow('broken off');
    const { answer } = await takeAnswer(answered(broken()), 2);
    await expect(buffer(answer.body)).rejects.toThrow('broken off');
  });
});

it('an idempotency key is for POST: with another write it is refused, and nothing is sent', async () => {
  const platform = await startRawPlatform(sends('{}'));
  const gateway = await gatewayAt(platform);
  const key = await gateway.addTeam();
  const headers = { 'idempotency-key': 'once' };
  for (const method of ['PUT', 'PATCH', 'DELETE'] as const) {
    const reply = await gateway.call('/api/v1/campaign/1', { key, method, headers });
    expect([method, outcomeOf(reply)]).toEqual([method, '400 invalid_request']);
    expect(reply.json().detail).toBe('idempotency-key is for POST only.');
  }
  expect(platform.requests).toHaveLength(0);
  expect((await gateway.call('/api/v1/campaign/1', { key, headers })).status).toBe(200);
  const made = { key, method: 'POST', headers, json: {} } as const;
  expect((await gateway.call('/api/v1/campaign/create', made)).status).toBe(200);
});

it('reads what releases before it wrote, and writes what they read', () => {
  const earlier = {
    owner: '1e6c5f0e-0c5b-4a53-9c0f-2f4a5b0f7e11',
    request: 'fingerprint',
    canonical: 'meaning',
    atMs: 1_795_000_000_000,
    fate: {
      state: 'answered',
      answer: { status: 201, headers: { 'content-type': 'application/json' }, body: 'e30=' },
    },
  };
  const record = readRecord(JSON.stringify(earlier));
  expect(record?.outcome).toMatchObject({ state: 'answered', answer: { body: Buffer.from('{}') } });
  expect(record === null ? null : JSON.parse(writeRecord(record))).toEqual(earlier);
});
