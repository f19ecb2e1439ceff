import { describe, expect, it } from 'vitest';
import {
  bodyHash,
  type EntryHeader,
  isEntryHeader,
  joinRows,
  ROW_SEPARATOR,
} from '../../../src/reports/rows/entry.js';
import { bytesEntry, refusalEntry, rowsEntry } from './entries.js';

const HEADERS: readonly EntryHeader[] = [
  rowsEntry([{ advertiser_id: 1 }]).header,
  bytesEntry('{}').header,
  refusalEntry('{}').header,
];

describe('isEntryHeader', () => {
  it.each(HEADERS)('knows a header of form $form, also after it went through JSON', (header) => {
    expect(isEntryHeader(header)).toBe(true);
    expect(isEntryHeader(JSON.parse(JSON.stringify(header)))).toBe(true);
  });

  // What an answer is made from: anything else in its place would be a fault in the middle of an answer.
  const needed: Readonly<Record<EntryHeader['form'], readonly string[]>> = {
    rows: ['columns', 'rowCount', 'paging'],
    bytes: ['status', 'contentType'],
    refusal: ['status', 'contentType'],
  };
  const common = [
    'fetchedAt',
    'fetchStartedAt',
    'fetchedOn',
    'lastDay',
    'kind',
    'emptyTail',
    'originMs',
    'seq',
    'accounts',
    'hash',
    'form',
  ];

  it.each(HEADERS)(
    'takes a header of form $form for absent when a member is missing or of another type',
    (header) => {
      for (const name of [...common, ...needed[header.form]]) {
        const { [name as keyof typeof header]: _, ...rest } = header;
        expect(isEntryHeader(rest), `without ${name}`).toBe(false);
        expect(isEntryHeader({ ...header, [name]: true }), `${name} true`).toBe(false);
      }
      expect(isEntryHeader({ ...header, accounts: [1] })).toBe(false);
    },
  );

  it('takes a day for absent when what it was split from is missing or of another type', () => {
    const cut = { from: '2026-11-01', to: '2026-11-07', sortedHash: 'h', generation: 'first' };
    const { header } = rowsEntry([{ date: '2026-11-01' }], { splitFrom: cut });
    expect(isEntryHeader(JSON.parse(JSON.stringify(header)))).toBe(true);
    for (const name of Object.keys(cut)) {
      const { [name as keyof typeof cut]: _, ...rest } = cut;
      expect(isEntryHeader({ ...header, splitFrom: rest }), `without ${name}`).toBe(false);
      expect(isEntryHeader({ ...header, splitFrom: { ...cut, [name]: 1 } }), `${name} 1`).toBe(false);
    }
    const { splitFrom: _, ...unsplit } = header;
    expect(isEntryHeader(unsplit)).toBe(false);
    expect(isEntryHeader({ ...header, splitFrom: 'first' })).toBe(false);
  });

  it.each([null, 1, 'rows', [], {}, { form: 'rows' }, { ...HEADERS[0], form: 'segment' }])(
    'does not know %j',
    (value) => {
      expect(isEntryHeader(value)).toBe(false);
    },
  );
});

describe('joinRows and bodyHash', () => {
  it('joins rows so that every line is one row', () => {
    const rows = [1, 2, 3].map((id) => ({ json: `{"id":${id}}`, date: null, columns: ['id'] }));
    expect(joinRows(rows).toString().split(ROW_SEPARATOR)).toEqual(['{"id":1}', '{"id":2}', '{"id":3}']);
    expect(joinRows([]).length).toBe(0);
  });

  it('tells bodies apart', () => {
    expect(bodyHash(Buffer.from('a'))).toBe(bodyHash(Buffer.from('a')));
    expect(bodyHash(Buffer.from('a'))).not.toBe(bodyHash(Buffer.from('b')));
    expect(bodyHash(Buffer.from('a'))).toMatch(/^[A-Za-z0-9_-]{22}$/);
  });
});
