import { describe, expect, it } from 'vitest';
import { type JsonObject, parseJson } from '../../../src/reports/rows/json.js';
import { readPaging } from '../../../src/reports/rows/paging.js';

const read = (text: string, rowCount = 2) => readPaging([parseJson(text) as JsonObject], rowCount);
const NOTHING = { page: null, pages: null, perPage: null, total: null };

describe('readPaging', () => {
  it.each([
    ['{"links":{"first":"a","next":"https://x/?page=2"}}', NOTHING],
    ['{"next_page_url":"https://x/?page=2"}', NOTHING],
    ['{"next":2}', NOTHING],
    ['{"meta":{"next_cursor":"abc"}}', NOTHING],
    ['{"pageInfo":{"hasNextPage":true}}', NOTHING],
    ['{"has_more":true}', NOTHING],
    ['{"last_page":3}', { ...NOTHING, pages: 3 }],
    ['{"total":3}', { ...NOTHING, total: 3 }],
    ['{"meta":{"total":"3"}}', { ...NOTHING, total: 3 }],
    [
      '{"meta":{"current_page":1,"last_page":4,"per_page":2,"total":7}}',
      { page: 1, pages: 4, perPage: 2, total: 7 },
    ],
    [
      '{"meta":{"pagination":{"current_page":4,"total_pages":4,"per_page":2,"total":8}}}',
      { page: 4, pages: 4, perPage: 2, total: 8 },
    ],
    ['{"pagination":{"page":2,"pageSize":2,"totalCount":5}}', { page: 2, pages: null, perPage: 2, total: 5 }],
  ])('finds that %s is not all', (text, paging) => {
    expect(read(text)).toEqual(paging);
  });

  it.each([
    '{}',
    '{"links":{"next":null,"prev":"x"}}',
    '{"links":{"next":""}}',
    '{"next_page_url":null}',
    '{"has_more":false}',
    '{"last_page":1,"current_page":1,"total":2,"per_page":15}',
    '{"total":2}',
    '{"total":1.5e9}',
    '{"total":12.75}',
    '{"total":{"spent":900}}',
    '{"totals":{"total":900}}',
    '{"campaign":{"next":"x"}}',
  ])('takes %s for whole', (text) => {
    expect(read(text)).toBeNull();
  });

  it('looks at every container, the outer ones first', () => {
    const outer = parseJson('{"total":9}') as JsonObject;
    const inner = parseJson('{"total":2,"per_page":2}') as JsonObject;
    expect(readPaging([outer, inner], 2)).toEqual({ ...NOTHING, total: 9, perPage: 2 });
    expect(readPaging([inner, outer], 2)).toBeNull();
  });
});
