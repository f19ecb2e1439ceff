/** What a listing says of revisions that count no more, and of those that were asked for in another way. */
import { expect, it } from 'vitest';
import { isSameMethod, listRevisions, type RevisionsWanted } from '../../../src/reports/history/diff-days.js';
import type { Erasures } from '../../../src/reports/history/erasures.js';
import { encodeHeads, type Revision } from '../../../src/reports/history/revision.js';

const revision = (knownFrom: number, more: Partial<Revision> = {}): Revision => ({
  ...{ id: knownFrom.toString(36), knownFrom, confirmedUntil: knownFrom, fetchedFrom: knownFrom, ageDays: 1 },
  ...{ digest: `${knownFrom}`, schema: 's', generation: 'g', credential: 'c', rowCount: 1, bytes: 1 },
  ...{ answerRows: 1, seq: 0 },
  ...more,
});

const listOf =
  (revisions: readonly Revision[], isErased: Erasures['isErased'] = () => false) =>
  (wanted: RevisionsWanted) =>
    listRevisions(
      {
        enabled: true,
        isErased,
        store: {
          heads: async () => [{ stamp: 1, heads: encodeHeads({ asked: ['1'], revisions }) }],
          contents: async (_series, asked) => asked.map(() => null),
        },
      },
      wanted,
    );
const WANTED = { series: 's', dates: ['2026-11-01'], generation: 'g', isProven: true };

it('skips what is void, and says why; what follows is compared with what counts', async () => {
  const list = listOf([
    revision(1, { generation: 'old' }),
    revision(2),
    revision(3, { generation: 'old', credential: 'd' }),
    revision(4),
    revision(5, { credential: 'd' }),
  ]);
  const { days } = await list(WANTED);
  expect(days[0]?.revisions.map(({ kind, void: why }) => [kind, why])).toEqual([
    ['void', 'refuted'],
    ['first', null],
    ['void', 'refuted'],
    ['changed', null],
    ['method', null],
  ]);
  const unproven = await list({ ...WANTED, isProven: false });
  expect(unproven.days[0]?.revisions.map(({ void: why }) => why)).toEqual([
    ...['refuted', 'not_proven', 'refuted', 'not_proven', 'not_proven'],
  ]);
});

it('takes another column, or another kind of values in it, for another method, and a day without rows for none', () => {
  const shaped = (schema: string, columns: string[], types: string[], rowCount = 1) => ({
    revision: { schema, credential: 'c' },
    header: { columns, types, rowCount },
  });
  const one = shaped('1', ['date', 'spent'], ['t', '2']);
  expect(isSameMethod(one, shaped('2', ['spent', 'date'], ['4z', 't']))).toBe(true);
  expect(isSameMethod(one, shaped('2', [], [], 0))).toBe(true);
  expect(isSameMethod(one, shaped('2', ['date', 'spent', 'views'], ['t', '2', 'p']))).toBe(false);
  expect(isSameMethod(one, shaped('2', ['date', 'spent'], ['t', 't']))).toBe(false);
  const { header } = one;
  expect(isSameMethod(one, { revision: { schema: '1', credential: 'd' }, header })).toBe(false);
});

it('lists what was cut off as void, and nothing that was erased', async () => {
  const list = listOf([revision(1, { void: 'cut' }), revision(2), revision(3)], ({ seq }) => seq === 7);
  const { days } = await list(WANTED);
  expect(days[0]?.revisions.map(({ kind, void: why }) => [kind, why])).toEqual([
    ['void', 'cut'],
    ['first', null],
    ['changed', null],
  ]);
  const all = listOf([revision(1, { seq: 7 }), revision(2)], ({ seq }) => seq === 7);
  expect((await all(WANTED)).days[0]?.revisions.map(({ revision: { id } }) => id)).toEqual(['2']);
});
