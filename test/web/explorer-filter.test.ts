/** The filter of the explorer's rows: which texts and conditions it understands, and what it says of others. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { filterRows } from '../../src/web/explorer/filter.js';
import { allColumnsOf, withMeasures } from '../../src/web/explorer/measures.js';
import { numbersIn } from '../../src/web/explorer/numbers.js';
import type { Row } from '../../src/web/explorer/parse.js';

const SOLD = { date: '2026-11-18', currency: 'USD' };
const ROWS: readonly Row[] = [
  { ...SOLD, campaignId: 7, campaignName: 'Spring=Summer', clicks: 3, impressions: 1000, spent: 0.5 },
  { ...SOLD, campaignId: 8, campaignName: 'Bread & butter', clicks: 1000, impressions: 100_000, spent: 1500 },
  { ...SOLD, campaignId: 9, campaignName: 'Acme, A > B', clicks: 2500, impressions: 1e6, spent: 20.25 },
];

function filtered(filter: string, { of = ROWS, hasCommas = false, currency = null as string | null } = {}) {
  const { columns } = allColumnsOf(of, currency);
  const numbers = numbersIn(hasCommas ? 'de-DE' : 'en-US');
  return filterRows(filter, { rows: withMeasures(of, columns), columns, currency, numbers });
}
const found = (filter: string, options = {}) => {
  const { rows, fault } = filtered(filter, options);
  return fault ?? rows.map(({ campaignId }) => campaignId);
};

it('a day and the name of a campaign are found as they are read: with two quotation marks for one, and without the other days', () => {
  const named = { ...SOLD, campaignId: 1, campaignName: 'Spring Sale, "Early Bird"' };
  const rows = [named, { ...SOLD, campaignId: 2, campaignName: 'May 20 Sale', date: '2026-12-02' }];
  expect(found('campaign = "Spring Sale, ""Early Bird"""', { of: rows })).toEqual([1]);
  expect(found('"Spring Sale, "Early Bird""', { of: rows })).toEqual([1]);
  expect(found('may 20', { of: rows })).toEqual([2]);
  expect(found('dec 2', { of: [...rows, { ...named, date: '2026-12-20' }] })).toEqual([2]);
  expect(filtered('campaign in "May 20 Sale", Nosuch', { of: rows }).understood).toBe(
    'Campaign name in “May 20 Sale”, “Nosuch” (“Nosuch” matches no row)',
  );
});

const BRACKETS =
  'Brackets are not possible; write the conditions one after another with “and”: all of them apply.';
const COLUMNS =
  'columns are Date, Currency, Campaign id, Campaign name, Clicks, Impressions, Spent, CTR, CPC, CPM';

it.each([
  ['clicks>4', [8, 9]],
  ['Clicks >= 1,000', [8, 9]],
  ['clicks > 1,000', [9]],
  ['clicks ≥ 1,000, ctr >= 0.5 %', [8]],
  ['CTR >= 0.3%', [7, 8]],
  ['CTR >= 0.3', [7, 8]],
  ['clicks > 1,000 and CTR >= 0.5%', []],
  ['spent > $1,000.50', [8]],
  ['spent<1$', [7]],
  ['spent > 20 USD', [8, 9]],
  ['clicks > -1 & clicks => 3 && spent =< 0.5', [7]],
  ['campaign id = 8', [8]],
  ['acme and clicks > 4', [9]],
  ['clicks>2 2026-11-18 acme;', [9]],
  ['spring=summer', [7]],
  ['a > b clicks>2', [9]],
  ['bread and butter', []],
  ['bread & butter', [8]],
  ['Acme, b', [9]],
  ['campaign = bread', []],
  ['campaign = "BREAD & butter "', [8]],
  ['campaign = bread & butter, clicks > 4', [8]],
  ['campaign != "spring=summer" clicks < 2000', [8]],
  ['campaign != bread', [7, 8, 9]],
  ['campaign~bread', [8]],
  ['campaign ~ "& b"', [8]],
  ['campaign !~ bread', [7, 9]],
  ['date = 2026-11 clicks > 4', [8, 9]],
  ['date > 2026-10 and date <= 2026-11 acme', [9]],
  ['date > 2026-11', []],
  ['date between 2026-10 and 2026 clicks < 4', [7]],
  ['Campaign contains "a > b", clicks > 4', [9]],
  ['campaignName CONTAINS spring and clicks < 4', [7]],
  ['impr > 1000', [8, 9]],
  ['acme contains', []],
  ['date >= 2026-11-18 and date < 2026-11-19 clicks > 4', [8, 9]],
  ['date contains 2026-12', []],
  ['"nov 18, 2026" acme', [9]],
  ['Campaign = "Bread & butter"', [8]],
  ['campaign contains “bread &” clicks>4', [8]],
  ["Campaign contains 'a > b'", [9]],
  ['"Bread & butter"', [8]],
  ['"bread butter"', []],
  ['not "bread & butter"', [7, 9]],
  ['"', []],
  ['clicks between 3 and 1,000', [7, 8]],
  ['Clicks BETWEEN 4 and 2500 and not Campaign contains bread', [9]],
  ['clicks not between 3 and 1000', [9]],
  ['date between 2026-11-18 and 2026-11-19 clicks > 4', [8, 9]],
  ['spent between $1 and $21', [9]],
  ['clicks != 3', [8, 9]],
  ['clicks<>3 campaign ≠ bread & butter', [9]],
  ['Campaign not contains acme', [7, 8]],
  ['not acme', [7, 8]],
  ['not', []],
  ['clicks < 4 or clicks > 2000', [7, 9]],
  ['campaign = bread & butter or Campaign ~ acme || campaign = x and clicks > 2000', [9]],
  ['Campaign in bread & butter, Spring=Summer', [7, 8]],
  ['campaign in "Acme, A > B", zzz and clicks > 4', [9]],
  ['Campaign name not in (spring=summer, "bread & butter")', [9]],
  ['not campaign in(“Acme, A > B”)', [7, 8]],
  ['campaign in spring=summer, bread & butter, clicks > 4', [8]],
  ['campaign in spring=summer, ', [7]],
  ['campaign in (Spring=Summer, Acme, A > B)', [7, 9]],
  ['campaign not in (zzz, bread & butter)', [7, 9]],
  ['campaign in zzz, bread & butter, or spring=summer', [7, 8]],
  ['campaign in zzz, bread & butter, and clicks < 4', []],
  ['campaign id in 7,9', [7, 9]],
  ['date in 2026-10, 2026-11-18 acme', [9]],
  ['Nov 18 acme', [9]],
  ['18 nov', [7, 8, 9]],
  ['Nov. 18, 2026 acme', [9]],
  ['Nov 20', []],
  ['nov 1', []],
  ['not nov 18', []],
  ['Nov 20 or Nov 18 and clicks < 4', [7]],
  ['Date = Nov 18 acme', [9]],
  ['Date >= 18 November 2026, clicks > 4', [8, 9]],
  ['date > nov 18', []],
  ['date between Nov 17 and Nov 18 clicks > 4', [8, 9]],
  ['date in Nov 17, Nov 18 and clicks > 4', [8, 9]],
  ['date contains 18 nov acme', [9]],
  ['campaign starts with bread', [8]],
  ['Campaign name not starts with "acme, "', [7, 8]],
  ['campaign in "Acme, ""A"" > B", "Bread & butter"', [8]],
  ['spend > 1 and cost < 100', [9]],
  ['imps > 1000 CTR < 0.5', [9]],
  [' ', [7, 8, 9]],
])('a filter of %j finds the rows of it', (filter, expected) => {
  expect(found(filter)).toEqual(expected);
});

it.each([
  ['clicks>>4', '“>>” is not understood: write >, >=, <, <=, =, != or between.'],
  ['clicks between 4', '“between” needs two values with “and”: Clicks between … and ….'],
  ['clicks between 4 and x', '“x” is no number: write one such as 1000, 1,000 or 0.5.'],
  ['not klicks > 10', `No column is called “klicks”: did you mean Clicks? C${COLUMNS.slice(1)}.`],
  ['Impresions > 10', `No column is called “Impresions”: did you mean Impressions? C${COLUMNS.slice(1)}.`],
  ['acme budget > 10', `No column is called “budget”; ${COLUMNS}.`],
  ['campaign in ,', 'A text is missing in the list after Campaign name in.'],
  [
    'date in 2026-11-18, tomorrow',
    '“tomorrow” is no date: write a day such as 2026-11-20, or a month such as 2026-11.',
  ],
  ['clicks in 3, 1000', '“in” is for texts, ids and days: write Clicks = or Clicks between … and ….'],
  ['clicks > 4 < 9', `A column is missing before “<”; ${COLUMNS}.`],
  ['clicks > abc', '“abc” is no number: write one such as 1000, 1,000 or 0.5.'],
  ['clicks > 1k', '“1k” is no number: write one such as 1000, 1,000 or 0.5.'],
  ['Clicks>', 'A number is missing after Clicks >.'],
  [
    'cur > 5',
    '“>” does not fit: Currency is text; write Currency = and all of it, or Currency contains and a part of it.',
  ],
  ['c > 5', `Several columns begin with “c”; ${COLUMNS}.`],
  ['campaign = ', 'A text is missing after Campaign name =.'],
  ['date > yesterday', '“yesterday” is no date: write a day such as 2026-11-20, or a month such as 2026-11.'],
  ['(Clicks > 4) and acme', BRACKETS],
  ['not (Clicks > 4)', BRACKETS],
  ['clicks > (4)', BRACKETS],
  ['acme and clicks > 4)', BRACKETS],
  ['date >', 'A date is missing after Date >.'],
  ['clicks starts with 4', '“starts with” is not understood: write >, >=, <, <=, =, != or between.'],
  ['clicks contains 4', '“contains” is not understood: write >, >=, <, <=, =, != or between.'],
  ['clicks > 5%', '“5%” has %, but Clicks is no percentage: write the number alone.'],
  ['clicks > $5', '“$5” does not fit: Clicks is not in $; write the number alone.'],
  ['spent > 5 €', '“5 €” does not fit: Spent is not in €; write the number alone.'],
  ...['clicks > 4 or spent < 2', 'campaign = bread or acme', 'clicks > 4 or', 'or clicks > 4'].map(
    (filter) => [
      filter,
      '“or” joins conditions of one column only; of several values write a list: Campaign name in A, B.',
    ],
  ),
])('a filter of %j is refused with the part that is not understood, and no row is shown', (filter, fault) => {
  expect(filtered(filter)).toMatchObject({ rows: [], fault, understood: null });
});

it.each([
  ['clicks>=1,000 and CTR >= 0.5%', 'Clicks ≥ 1,000 and CTR ≥ 0.5%'],
  ['acme spent > 1234.5', '“acme” and Spent > $1,234.5'],
  ['campaign = bread date<2026-11-20', 'Campaign name = “bread” and Date < 2026-11-20'],
  ['campaign != bread', 'not (Campaign name = “bread”)'],
  ['campaign ~ bread', 'Campaign name contains “bread”'],
  ['campaign id = 1000', 'Campaign id = 1000'],
  ['bread and butter', '“bread” and “butter” and “and”'],
  ['clicks between 10 and 1,000', 'Clicks ≥ 10 and Clicks ≤ 1,000'],
  [
    'campaign in Acme B, "c, d"',
    'Campaign name in “Acme B”, “c, d” (“Acme B” matches no row) (“c, d” matches no row)',
  ],
  ['date not in 2026-11-18, 2026-12', 'not (Date in 2026-11-18, 2026-12 (2026-12 matches no row))'],
  ['clicks < 4 or clicks > 10 or clicks = 5 acme', '(Clicks < 4 or Clicks > 10 or Clicks = 5) and “acme”'],
  ['cost > 3', 'Spent > $3'],
  ['not "a b" clicks != 4', 'not (“a b”) and not (Clicks = 4)'],
])('a filter of %j says what of it is understood', (filter, understood) => {
  expect(filtered(filter)).toMatchObject({ fault: null, understood });
});

it.each(['0,5', '1,00', '0,500', '12,34,567', '1.000.000', '1 000', "1'000"])(
  'the number %s is never guessed',
  (number) => {
    expect(found(`spent > ${number}`)).toBe(
      `“${number}” is not understood: write decimals with a point, as in 0.5, and thousands as 1000 or 1,000.`,
    );
  },
);

it('a number with two readings is refused; one comma has one reading in English', () => {
  const german = { hasCommas: true };
  const told = (number: string) =>
    `“${number}” has two readings: write 1500 without a separator, and decimals as 1.5.`;
  for (const number of ['1,500', '1.500']) expect(found(`spent > ${number}`, german)).toBe(told(number));
  expect([found('spent > 1.5', german), found('spent > 1499', german)]).toEqual([[8, 9], [8]]);
  expect([found('clicks > 1.000'), found('clicks > 1,000')]).toEqual([told('1.000'), [9]]);
  expect([found('spent > 0.125'), found('spent > 1234.567')]).toEqual([[7, 8, 9], [8]]);
  expect([numbersIn('de-DE').hasCommas, numbersIn('en-US').hasCommas]).toEqual([true, false]);
});

it('an amount with a sign is refused where rows have several currencies or another one', () => {
  const euro = { ...ROWS[0], currency: 'EUR' } as Row;
  expect(found('spent > €0', { of: [euro] })).toEqual([7]);
  const told = '“€0” does not fit: Spent is not in €; write the number alone.';
  expect(found('spent > €0', { of: [euro, ...ROWS] })).toBe(told);
  const untold = ROWS.map(({ currency: _, ...row }) => row);
  expect(found('spent > €20', { of: untold, currency: 'EUR' })).toEqual([8, 9]);
  expect(found('spent > €0', { of: untold })).toBe(told);
});

it('spaces, case, thousands and the name of a column change nothing', () => {
  const condition = fc.record({
    name: fc.constantFrom(
      ['clicks', 'Clicks'],
      ['impressions', 'IMPRESSIONS'],
      ['campaignId', 'campaign ID'],
    ),
    sign: fc.constantFrom('>', '<', '>=', '<=', '='),
    limit: fc.oneof(fc.nat(2_000_000), fc.constantFrom(3, 7, 1000, 2500)),
    gap: fc.constantFrom('', ' ', '  '),
  });
  const joint = fc.constantFrom(' ', ', ', ' and ', ' AND ', '; ', ' & ');
  fc.assert(
    fc.property(fc.array(condition, { minLength: 1, maxLength: 3 }), joint, (conditions, between) => {
      const plain = conditions.map(({ name, sign, limit }) => `${name[0]}${sign}${limit}`).join(' ');
      const free = conditions.map(
        ({ name, sign, limit, gap }) => `${name[1]}${gap}${sign}${gap}${limit.toLocaleString('en-US')}`,
      );
      expect(filtered(free.join(between))).toEqual(filtered(plain));
      expect(filtered(plain).fault).toBeNull();
    }),
  );
});

it('a list has a name that is longer in lower case', () => {
  const of = ['İzmir, new', 'acme'].map((campaignName, campaignId) => ({
    ...SOLD,
    campaignId,
    campaignName,
  }));
  expect(found('campaign in İzmir, new, ACME', { of })).toEqual([0, 1]);
});

it('a condition and its negation have each row once', () => {
  const conditions = [
    'clicks > 4',
    'clicks between 3 and 1000',
    'campaign = "a > b"',
    'bread',
    'date = 2026-11-18',
  ];
  for (const condition of conditions) {
    const [has, lacks] = [found(condition), found(`not ${condition}`)] as [number[], number[]];
    expect([...has, ...lacks].toSorted()).toEqual([7, 8, 9]);
  }
});

it('any text comes to an end: as rows, or as a fault without rows', () => {
  const piece = fc.constantFrom(
    'clicks',
    'x',
    '>',
    '<',
    '=',
    '!',
    ',',
    ';',
    '1,000',
    '0,5',
    '$',
    '%',
    '&',
    '|',
    'or',
    'contains ',
    'between ',
    'in ',
    '(',
    ')',
    ' and ',
    'not ',
    '“',
    '”',
    'date',
    '"',
    ' ',
  );
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const { rows, fault } = filtered(pieces.join(''));
      if (fault !== null) expect(rows).toEqual([]);
    }),
  );
});
