import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  fingerprint,
  type IdempotencyOutcome,
  type IdempotencyRecord,
  idempotencyDocument,
  readRecord,
  writeRecord,
} from '../../../src/api/proxy/idempotency-record.js';

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
