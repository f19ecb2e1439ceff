/** Finished answers in memory, and the reply that is made of them. */

import { randomBytes } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createL1, type Finished, finish, pack, unpack } from '../../../src/reports/cache/finished.js';
import {
  cacheHeaders,
  entityTag,
  isNotModified,
  replyFromMemory,
  type Validators,
} from '../../../src/reports/cache/reply.js';
import type { Query } from '../../../src/reports/query.js';
import { deflateBody } from '../../../src/reports/rows/segments.js';
import { anyPieces, plainOf } from '../../api/http/gzip-pieces.js';

function finishedWith(body: readonly Buffer[], coding: Finished['coding'] = 'identity'): Finished {
  return {
    status: 200,
    contentType: 'application/json',
    tag: 'tag',
    accounts: ['1'],
    seq: 3,
    weight: 1,
    asOfMs: 1,
    newestMs: 2,
    freshUntilMs: 3,
    stale: false,
    rowCount: 4,
    revision: null,
    warnings: [],
    coding,
    checkFromMs: null,
    madeOf: [],
    isPieced: false,
    inflatesTo: null,
    replies: null,
    asked: { endpoint: 'campaigns/get', account: '1', requests: 1, hits: 0 },
    body,
    bytes: body.reduce((sum, piece) => sum + piece.length, 0),
  };
}

const rows = (count: number) => Buffer.from('{"spent":1.25,"clicks":17},\n'.repeat(count));

setFlagsFromString('--allow-natives-syntax');
/** Whether V8 has not turned it into a dictionary, which is larger and slower to read. */
const isFast = new Function('object', 'return %HasFastProperties(object)') as (object: object) => boolean;

describe('a finished answer in memory', () => {
  it('is no dictionary for V8, as it was made, deflated and inflated again', async () => {
    const { body, bytes, replies, inflatesTo, isPieced, coding, checkFromMs, madeOf, asked, ...head } =
      finishedWith([]);
    const none = { format: () => Promise.reject(new Error('not asked')) };
    const ready = { ready: [rows(300)], deflated: null };
    const { finished } = await finish(head, ready, coding, { checkFromMs, madeOf, asked }, none);
    const held = pack(finished, null);
    expect(held.inflatesTo).toBe(rows(300).length);
    expect([finished, held, unpack(held)].map(isFast)).toEqual([true, true, true]);
    expect(finished).toEqual(finishedWith([rows(300)]));
  });

  it('is the same again, whatever its body is', () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 3000 }).map((bytes) => Buffer.from(bytes)),
      fc.integer({ min: 0, max: 3000 }).map(rows),
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 3 }),
        fc.constantFrom<Finished['coding']>('identity', 'gzip', 'br'),
        (body, coding) => {
          const finished = finishedWith(body, coding);
          const held = pack(finished, null);
          expect(unpack(held)).toEqual(finished);
          if (held.inflatesTo !== null) expect(held.body[0]?.buffer.byteLength).toBe(held.bytes);
        },
      ),
    );
  });

  it('is the same again when it was joined of what the store has deflated', () => {
    fc.assert(
      fc.property(anyPieces, (pieces) => {
        const finished = finishedWith([plainOf(pieces)]);
        const held = pack(finished, pieces);
        expect(unpack(held)).toEqual(finished);
        if (held.inflatesTo !== null) expect(held.body[0]?.buffer.byteLength).toBe(held.bytes);
      }),
    );
    const many = rows(300);
    const segment = { bytes: deflateBody(many), plainLength: many.length, plainCrc: crc32(many) };
    expect(pack(finishedWith([many]), [segment]).inflatesTo).toBe(many.length);
  });

  it.each([
    ['a report', [rows(300)], 'identity', 'packed'],
    ['one of a few rows', [rows(3)], 'identity', 'ready'],
    ['one that is coded', [rows(300)], 'gzip', 'ready'],
    ['one in pieces', [rows(300), rows(300)], 'identity', 'ready'],
    ['one that is inflated too long at once', [rows(3000)], 'identity', 'ready'],
    ['what does not become smaller', [randomBytes(8000)], 'identity', 'ready'],
  ] as const)('%s lies there as it should', (_what, body, coding, kind) => {
    expect(pack(finishedWith(body, coding), null).inflatesTo === null).toBe(kind === 'ready');
  });
});

const answerOf = (bytes: number) => ({ bytes }) as Finished;

describe('createL1', () => {
  it('never holds more bytes than it may', () => {
    const sets = fc.array(fc.tuple(fc.constantFrom(...'abcdefghij'), fc.integer({ min: 0, max: 30_000 })), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(sets, (given) => {
        const l1 = createL1(100_000);
        for (const [key, bytes] of given) {
          l1.set(key, answerOf(bytes));
          expect(l1.bytes).toBeLessThanOrEqual(100_000);
        }
        const held = [...'abcdefghij']
          .map((key) => l1.get(key)?.bytes)
          .filter((bytes) => bytes !== undefined);
        expect(l1.entries).toBe(held.length);
        expect(l1.bytes).toBeGreaterThanOrEqual(held.reduce((sum, bytes) => sum + bytes, 0));
      }),
    );
  });

  it('lets go of what was longest unused', () => {
    const l1 = createL1(10_000);
    for (const key of ['a', 'b', 'c', 'd']) l1.set(key, answerOf(1400));
    l1.get('a');
    l1.set('e', answerOf(1400));
    expect([...'abcdef'].filter((key) => l1.get(key) !== undefined).join('')).toBe('acde');
  });

  it('does not take one body of more than a quarter, and forgets the older one in its place', () => {
    const l1 = createL1(10_000);
    for (const key of ['a', 'b']) l1.set(key, answerOf(100));
    l1.set('a', answerOf(2501));
    expect(l1.get('a')).toBeUndefined();
    expect(l1.get('b')).toBeDefined();
  });
});

describe('the summary of what is in memory', () => {
  const of = (account: string) => ({ endpoint: 'campaigns/get', account });

  it('counts answers, bytes and the first expiry by endpoint and account, the biggest first', () => {
    const l1 = createL1(100_000);
    const [small, big] = [l1.askedOf(of('1')), l1.askedOf(of('2'))];
    expect(l1.askedOf(of('1'))).toBe(small);
    for (const [key, asked, freshUntilMs] of [
      ['a', small, 70],
      ['b', big, 90],
      ['c', big, 80],
    ] as const)
      l1.set(key, { bytes: 100, asked, freshUntilMs } as Finished);
    big.requests += 1;
    const idle = { endpoint: 'campaigns/get', hits: 0 };
    expect(l1.summary(75)).toEqual([
      { ...idle, account: '2', requests: 1, answers: 2, bytes: 2248, untilMs: 80 },
      { ...idle, account: '1', requests: 0, answers: 1, bytes: 1124, untilMs: Number.POSITIVE_INFINITY },
    ]);
  });

  it('keeps a bounded number of counts', () => {
    const l1 = createL1(100_000);
    for (let account = 0; account < 2000; account++) l1.askedOf(of(`${account}`)).requests += 1;
    const summary = l1.summary(0);
    expect(summary.length).toBe(1001);
    expect(summary.find(({ endpoint }) => endpoint === 'others')?.requests).toBe(1000);
  });
});

const START_MS = Date.parse('2026-11-21T12:00:00Z');
const body = [Buffer.from('{}')];

/** What of both an answer at once looks at. */
const finishedOf = (asOfMs: number, freshUntilMs: number) =>
  ({
    asOfMs,
    freshUntilMs,
    tag: 'a',
    coding: 'identity',
    warnings: [],
    status: 200,
    contentType: 'text/csv',
    body,
  }) as unknown as Finished;
const askedOf = (meansUntilMs: number, fileName: string | null = null) =>
  ({ meansUntilMs, fileName }) as unknown as Query;

it('tells age and lifetime as they are at each moment, however often it is asked', () => {
  const near = fc.integer({ min: -3000, max: 3000 });
  fc.assert(
    fc.property(
      near,
      near,
      fc.option(near),
      fc.array(near, { minLength: 2 }),
      (age, fresh, means, moments) => {
        let nowMs = START_MS;
        const [finished, asked] = [
          finishedOf(START_MS + age, START_MS + fresh),
          askedOf(means === null ? Number.POSITIVE_INFINITY : START_MS + means),
        ];
        for (const moment of moments.toSorted((a, b) => a - b).concat(moments)) {
          nowMs = START_MS + moment;
          for (const ifNoneMatch of [undefined, '"a"', '"b"'])
            expect(replyFromMemory(asked, finished, ifNoneMatch, nowMs)).toEqual(
              replyFromMemory(asked, { ...finished, replies: null }, ifNoneMatch, nowMs),
            );
        }
      },
    ),
  );
});

it('is of the question that was asked, where two have one body', () => {
  const finished = finishedOf(START_MS, START_MS);
  const of = (asked: Query) =>
    replyFromMemory(asked, finished, undefined, START_MS).headers['content-disposition'];
  const forever = Number.POSITIVE_INFINITY;
  expect([of(askedOf(forever, 'a.csv')), of(askedOf(forever)), of(askedOf(forever, 'b.csv'))]).toEqual([
    'attachment; filename="a.csv"',
    undefined,
    'attachment; filename="b.csv"',
  ]);
});

it('is put together once for a second', () => {
  let nowMs = START_MS;
  const [finished, asked] = [finishedOf(START_MS, START_MS + 10_000), askedOf(Number.POSITIVE_INFINITY)];
  const first = replyFromMemory(asked, finished, undefined, nowMs);
  nowMs += 1;
  const second = replyFromMemory(asked, finished, undefined, nowMs);
  expect(second.headers).toMatchObject({ age: '0' });
  nowMs += 998;
  expect(replyFromMemory(asked, finished, undefined, nowMs)).toBe(second);
  nowMs += 1;
  expect(replyFromMemory(asked, finished, undefined, nowMs).headers).toMatchObject({ age: '1' });
  expect(first.headers).toMatchObject({ age: '0' });
});

const NOW = Date.parse('2026-11-21T12:00:00Z');
const STATUS = { outcome: 'hit', tier: 'l1', stored: false, degraded: false, days: null } as const;

function headers(validators: Partial<Validators> = {}, status: object = {}) {
  const all: Validators = {
    tag: 'T',
    asOfMs: NOW - 10_000,
    freshUntilMs: NOW + 50_000,
    meansUntilMs: Number.POSITIVE_INFINITY,
    keep: true,
    ...validators,
  };
  return cacheHeaders(all, 'identity', { ...STATUS, ...status }, NOW);
}

describe('cacheHeaders', () => {
  it('says how old it is, and how long a caller may keep it: its age and what is left', () => {
    expect(headers()).toMatchObject({
      etag: '"T"',
      age: '10',
      'cache-control': 'private, max-age=60',
      'cache-status': 'dsp-gateway; hit; ttl=50; detail=l1',
      vary: 'accept, accept-encoding, authorization, x-api-key',
    });
  });

  it('lets a caller keep it no longer than the question means the same', () => {
    const { 'cache-control': cacheControl, 'cache-status': status } = headers({ meansUntilMs: NOW + 20_000 });
    expect([cacheControl, status]).toEqual(['private, max-age=30', 'dsp-gateway; hit; ttl=50; detail=l1']);
    expect(headers({ meansUntilMs: NOW - 1 })).toMatchObject({ 'cache-control': 'private, max-age=10' });
  });

  it('past its freshness, lets a caller keep it no longer, and says by how much', () => {
    expect(headers({ freshUntilMs: NOW - 40_000 }, { outcome: 'stale-if-error' })).toMatchObject({
      age: '10',
      'cache-control': 'private, max-age=10',
      'cache-status': 'dsp-gateway; hit; ttl=-40; detail=stale-if-error',
    });
  });

  it('passes on that an answer must not be kept', () => {
    expect(headers({ keep: false })['cache-control']).toBe('private, no-store');
  });

  it('never says a negative age, nor a max-age below the age', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -1e7, max: 1e9 }),
        fc.integer({ min: -1e9, max: 1e9 }),
        (ageMs, leftMs) => {
          const { age, 'cache-control': control } = headers({
            asOfMs: NOW - ageMs,
            freshUntilMs: NOW + leftMs,
          });
          const maxAge = Number(/max-age=(\d+)$/.exec(control as string)?.[1]);
          expect(Number(age)).toBe(Math.max(0, Math.floor(ageMs / 1000)));
          expect(maxAge).toBe(Number(age) + Math.max(0, Math.floor(leftMs / 1000)));
        },
      ),
    );
  });
});

describe('isNotModified', () => {
  it.each([
    ['"T"', true],
    ['W/"T"', true],
    ['"T-gzip"', false],
    ['W/"T-zstd"', false],
    ['"x", "T"', true],
    ['"x","T-gzip" , "y"', false],
    ['*', true],
    ['"x"', false],
    ['"T-deflate"', false],
    ['"T', false],
    [undefined, false],
  ])('%j: %s', (header, expected) => {
    expect(isNotModified(header, 'T', 'identity')).toBe(expected);
  });

  it('knows every tag it gave, also those that end like a coding', () => {
    const tags = (['identity', 'gzip', 'br', 'zstd'] as const).map((coding) => entityTag('T', coding));
    expect(tags).toEqual(['"T"', '"T-gzip"', '"T-br"', '"T-zstd"']);
    const tag = fc.stringMatching(/^[A-Za-z0-9_-]{1,8}(-gzip|-br)?$/);
    fc.assert(
      fc.property(tag, fc.constantFrom('identity', 'gzip', 'br', 'zstd'), (given, coding) => {
        expect(isNotModified(entityTag(given, coding), given, coding)).toBe(true);
      }),
    );
    expect(isNotModified('"T"', 'T-br', 'br')).toBe(false);
    expect(isNotModified('"T-gzip"', 'T', 'br')).toBe(false);
  });
});
