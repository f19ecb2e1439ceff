import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ReadQuestion } from '../../src/pipeline/read-question.js';
import type { Finished } from '../../src/pipeline/render.js';
import { createReplyAtOnce } from '../../src/pipeline/reply.js';

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
  ({ meansUntilMs, fileName }) as unknown as ReadQuestion;

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
        const remembering = createReplyAtOnce(() => nowMs);
        for (const moment of moments.toSorted((a, b) => a - b).concat(moments)) {
          nowMs = START_MS + moment;
          for (const ifNoneMatch of [undefined, '"a"', '"b"'])
            expect(remembering(asked, finished, ifNoneMatch)).toEqual(
              createReplyAtOnce(() => nowMs)(asked, finished, ifNoneMatch),
            );
        }
      },
    ),
  );
});

it('is of the question that was asked, where two have one body', () => {
  const replyAtOnce = createReplyAtOnce(() => START_MS);
  const finished = finishedOf(START_MS, START_MS);
  const of = (asked: ReadQuestion) => replyAtOnce(asked, finished, undefined).headers['content-disposition'];
  const forever = Number.POSITIVE_INFINITY;
  expect([of(askedOf(forever, 'a.csv')), of(askedOf(forever)), of(askedOf(forever, 'b.csv'))]).toEqual([
    'attachment; filename="a.csv"',
    undefined,
    'attachment; filename="b.csv"',
  ]);
});

it('is put together once for a second', () => {
  let nowMs = START_MS;
  const replyAtOnce = createReplyAtOnce(() => nowMs);
  const [finished, asked] = [finishedOf(START_MS, START_MS + 10_000), askedOf(Number.POSITIVE_INFINITY)];
  const first = replyAtOnce(asked, finished, undefined);
  nowMs += 1;
  const second = replyAtOnce(asked, finished, undefined);
  expect(second.headers).toMatchObject({ age: '0' });
  nowMs += 998;
  expect(replyAtOnce(asked, finished, undefined)).toBe(second);
  nowMs += 1;
  expect(replyAtOnce(asked, finished, undefined).headers).toMatchObject({ age: '1' });
  expect(first.headers).toMatchObject({ age: '0' });
});
