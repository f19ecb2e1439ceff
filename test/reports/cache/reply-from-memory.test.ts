import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Finished } from '../../../src/reports/cache/finished.js';
import { replyFromMemory } from '../../../src/reports/cache/reply.js';
import type { Query } from '../../../src/reports/query.js';

const START_MS = Date.parse('2026-11-21T12:00:00Z');
const body = [Buffer.from('{}')];

/** What of both an answer at once looks at. */
const finishedOf = (asOfMs: number, freshUntilMs: number) =>
  ({
    ...{
      asOfMs,
      freshUntilMs,
      tag: 'a',
      coding: 'identity',
      warnings: [],
      status: 200,
      contentType: 'text/csv',
    },
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
