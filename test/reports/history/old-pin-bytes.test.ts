/** Bytes that an earlier release wrote, one part of a pin each, with the headers that they must show. */
import { describe, expect, it } from 'vitest';
import { decodeOldRows } from '../../../src/reports/history/old-pin-bytes.js';
import { type OldPinRows, readOldRows } from '../../../src/store/pins-port.js';

const ID = 'p1:{t:0}:pin:0';
const AT = Date.parse('2026-11-21T12:00:00Z');
const DAY = {
  form: 'rows',
  fetchStartedAt: AT,
  fetchedAt: AT + 700,
  lastDay: '2026-11-10',
  fetchedOn: 20_778,
  kind: 'bounded',
  emptyTail: 'no',
  originMs: null,
  seq: 5_178_149_306_373,
  accounts: ['1', '東'],
  columns: ['date', 'clicks'],
  types: ['s', 'n'],
  rowCount: 1,
  answerRows: 9,
  paging: null,
  hash: 'n4bQgYhMfWWaL-qgxVrQFA',
  splitFrom: {
    from: '2026-11-01',
    to: '2026-11-14',
    sortedHash: 'ungWv48Bz-pBQUDeXa4iIA',
    generation: 'first',
  },
};
const rowsOf = (...clicks: readonly number[]) =>
  clicks.map((count) => `{"date":"2026-11-10","clicks":${count}}`).join(',\n');

interface Recorded {
  readonly header: object;
  readonly body: string;
  /** In base64. */
  readonly bytes: string;
  readonly facts: string;
}

const RECORDED: Readonly<Record<string, Recorded>> = {
  'a day': {
    header: DAY,
    body: rowsOf(2),
    bytes:
      'AaH9+kYAUtMIs109iddbzK0Ij4ZyV2oDfMlWUL7VgAGh/fpIvFEqUR8AEtaHAAAFAAAAAQAAACCtFEs+rRRLPp+G0IGITH1lmi/qoMVa0BQAungWv48Bz+pBQUDeXa4iIABRFlEjAAAJeyJkYXRlIjoiMjAyNi0xMS0xMCIsImNsaWNrcyI6Mn0=',
    facts:
      '{"originMs":null,"accounts":["1","東"],"columns":["date","clicks"],"types":["s","n"],"paging":null,"splitFrom":{"generation":"first"}}',
  },
  'a deflated day, with all numbers': {
    header: { ...DAY, rowCount: 4, answerRows: 40, kind: 'open', originMs: AT - 1, emptyTail: 'unconfirmed' },
    body: rowsOf(0, 1, 2, 3),
    bytes:
      'AaH9+kYAWKRi2nCrnyw5o0lQ5YtUvmkDecPpU/7pgQGh/fpIvFEqUR8AEtaHAAAFAAAABAAAAIYCujkwrxWJ75+G0IGITH1lmi/qoMVa0BQAungWv48Bz+pBQUDeXa4iIABRFlEjAaH9+kX/AAAoqlZKSSxJVbJSMjIwMtM1NNQ1NFDSUUrOyUzOLlayMqjV4arGq8KQoAojgiqMawEAAAD//w==',
    facts:
      '{"accounts":["1","東"],"columns":["date","clicks"],"types":["s","n"],"paging":null,"splitFrom":{"generation":"first"}}',
  },
  'an empty day, with a number that did not fit': {
    header: {
      ...DAY,
      kind: 'undeclared',
      rowCount: 0,
      emptyTail: 'confirmed',
      emptySince: [['2026-11-10', AT]],
      answerRows: 2 ** 24,
    },
    body: '',
    bytes:
      'AaH9+kYAW5usj96TkTNiIc5bayjJy0QDAJgoBL/9AAGh/fpIvFEqUR8AEtaHAAAFAAAAAAAAAAAAAAAAAAAAAJ+G0IGITH1lmi/qoMVa0BQAungWv48Bz+pBQUDeXa4iIABRFlEjAAAAAAAAAaH9+kYA',
    facts:
      '{"originMs":null,"accounts":["1","東"],"columns":["date","clicks"],"types":["s","n"],"paging":null,"splitFrom":{"generation":"first"},"answerRows":16777216}',
  },
  'a whole answer': {
    header: { ...DAY, splitFrom: null, lastDay: null, complete: true, seq: 0, hash: 'odd' },
    body: rowsOf(2),
    bytes:
      'AaH9+kYAUkxPeVUKhdGuRhn5X4ABsD4D71JL07oVgAGh/fpIvFEqAAAAAAAAAAAAAAAAAQAAACCtFEs+rRRLPgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAJeyJkYXRlIjoiMjAyNi0xMS0xMCIsImNsaWNrcyI6Mn0=',
    facts:
      '{"lastDay":null,"originMs":null,"accounts":["1","東"],"columns":["date","clicks"],"types":["s","n"],"paging":null,"hash":"odd","splitFrom":null,"complete":true}',
  },
};

const rowsIn = ({ bytes, facts }: Recorded): OldPinRows => ({
  ...(readOldRows(Buffer.from(bytes, 'base64')) as NonNullable<ReturnType<typeof readOldRows>>),
  facts: Buffer.from(facts),
});

describe('rows of a pin of an earlier release', () => {
  it.each(Object.entries(RECORDED))('are read as they were written: %s', async (_what, recorded) => {
    const found = await decodeOldRows(ID, rowsIn(recorded));
    expect(found?.header).toEqual({ order: 0, ...recorded.header });
    expect(found?.body.toString()).toBe(recorded.body);
  });

  it('are damaged under another name, and with any flipped bit', async () => {
    for (const recorded of Object.values(RECORDED)) {
      const rows = rowsIn(recorded);
      expect(await decodeOldRows('p1:{t:0}:pin:1', rows)).toBeNull();
      for (const part of ['header', 'body', 'facts'] as const)
        for (let bit = 0; bit < rows[part].length * 8; bit += 1) {
          const flipped = Buffer.from(rows[part]);
          flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
          expect(await decodeOldRows(ID, { ...rows, [part]: flipped }), `${part}, bit ${bit}`).toBeNull();
        }
      expect(await decodeOldRows(ID, { ...rows, version: rows.version + 1 })).toBeNull();
    }
  });

  it('are none in bytes that are cut off', () => {
    for (const length of [0, 22, 60])
      expect(
        readOldRows(Buffer.from(RECORDED['a day']?.bytes ?? '', 'base64').subarray(0, length)),
      ).toBeNull();
  });
});
