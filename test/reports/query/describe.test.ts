import { describe, expect, it } from 'vitest';
import { dayNumber } from '../../../src/reports/query/days.js';
import { ANSWER, describeBody, describeQuery, OWN_QUERY } from '../../../src/reports/query/describe.js';
import { GATEWAY_PARAMETERS, parameterTable } from '../../../src/reports/query/parameters.js';
import { assemble } from '../../../src/reports/rows/assemble.js';
import { bodyOf } from '../rows/assembled.js';
import { FETCHED_AT, RULES, rowsEntry } from '../rows/entries.js';
import { get } from './canonical-request.js';

interface Shown {
  readonly properties: Readonly<Record<string, Shown>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean;
}

const TABLE = parameterTable(['advertiserId', 'userId']);
const names = (schema: object) => Object.keys((schema as object as Shown).properties);

const CUT = { from: '2026-11-09', to: '2026-11-10', sortedHash: 'sorted', generation: 'first' };

describe('the description of a report call', () => {
  it('names every parameter that its parser knows, and lets others pass', () => {
    const known = [...TABLE.kinds.keys()].map((name) => (name === 'campaignIds' ? 'campaignIds[]' : name));
    expect(names(describeQuery(TABLE)).toSorted()).toEqual([...known, ...GATEWAY_PARAMETERS].toSorted());
    expect((describeQuery(TABLE) as object as Shown).additionalProperties).toBe(true);
  });

  it('names the members of a body, and the gateway’s own parameters beside it', () => {
    expect(names(describeBody(TABLE))).toEqual([...TABLE.kinds.keys()]);
    expect(names(OWN_QUERY)).toEqual([...GATEWAY_PARAMETERS]);
  });

  it('gives each kind of parameter its type', () => {
    const { properties } = describeQuery(TABLE) as object as Shown;
    expect(properties).toMatchObject({
      advertiserId: { type: 'integer' },
      byDate: { enum: ['1', 'true', '0', 'false', 1, true, 0, false] },
      dateFrom: { format: 'date' },
      'campaignIds[]': { type: 'array' },
      spentBased: { type: 'string' },
    });
    expect((describeBody(TABLE) as object as Shown).properties.byDate).toEqual({
      type: 'boolean',
      description: 'Splits the report by date.',
    });
  });

  it('names every member that an answer can have, and requires those that it always has', () => {
    const meta = (ANSWER as object as Shown).properties.meta as object as Shown;
    const NEXT_DAY = dayNumber('2026-11-11') as number;
    const forgotten = {
      ...({ code: 'beyond_retention', days: ['2026-11-10'], final: false } as const),
      sinceMs: FETCHED_AT,
      seenMs: FETCHED_AT,
      againMs: 1,
    };
    const paging = { page: 1, pages: 2, perPage: 1, total: 2 };
    const answer = (full: boolean, isRecalled: boolean) =>
      assemble({
        report: get(`dateFrom=2026-11-09&dateTo=2026-11-10${full ? '&byDate=1&sort=x' : ''}`).report,
        format: 'json',
        parts: [
          rowsEntry(
            [{ a: 1 }],
            full
              ? {
                  paging,
                  doubt: 'it looks like none',
                  splitFrom: CUT,
                  fetchedOn: NEXT_DAY,
                  ...(isRecalled && { forgotten }),
                }
              : {},
          ),
        ],
        totals: full
          ? rowsEntry([{ a: 1 }], { flaws: [{ code: 'pages_left' }], fetchedAt: FETCHED_AT - 60_000 })
          : null,
        days: full,
        bom: false,
        fields: null,
        nowMs: FETCHED_AT,
        rules: RULES,
        past: null,
        leftOut: [],
        isRecorded: full,
        expectedChange: full ? { spent: { p50: 0, p95: 0, n: 30 } } : null,
      });
    const membersOf = (full: boolean) =>
      // Beside rows from history there are no totals.
      [true, false].flatMap((isRecalled) =>
        Object.keys(JSON.parse(bodyOf(answer(full, isRecalled)).toString()).meta),
      );
    const all = [...new Set(membersOf(true))];
    expect(all.toSorted()).toEqual(Object.keys(meta.properties).toSorted());
    expect([...new Set(membersOf(false))].toSorted()).toEqual([...(meta.required ?? [])].toSorted());
  });
});
